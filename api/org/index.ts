import type { Area } from '../endpoint.ts'
import { createProject } from './create-project.ts'
import { createWorkspace } from './create-workspace.ts'
import { listChangelog } from './list-changelog.ts'
import { listProjects } from './list-projects.ts'
import { listWorkspaces } from './list-workspaces.ts'
import { showBilling } from './show-billing.ts'
import { showUsage } from './show-usage.ts'

export const org: Area = {
  org: [listWorkspaces, createWorkspace, listProjects, createProject, showBilling, showUsage],
  changelog: [listChangelog],
}
