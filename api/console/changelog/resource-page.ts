import { withQuery } from '../parts.ts'

interface Told {
  readonly project_id: string | null
  readonly agent_name: string | null
  readonly resource: { readonly type: string; readonly id: string }
  readonly data: Readonly<Record<string, unknown>>
}

/** The page of what an event is about; undefined for what has none. */
export function resourcePage({
  project_id,
  agent_name,
  resource: { type, id },
  data,
}: Told): string | undefined {
  switch (type) {
    case 'manifest':
      return `/console/manifests/${id}`
    case 'regression_check':
      return `/console/checks/${id}`
    case 'regression_finding':
      return agent_name === null
        ? undefined
        : withQuery('/console/regressions', { agent_name, project: project_id ?? undefined })
    case 'dataset_version':
      return typeof data['dataset_id'] === 'string'
        ? `/console/datasets/${data['dataset_id']}/versions/${id}`
        : undefined
    case 'import':
      return `/console/imports/${id}`
    case 'job':
      return `/console/jobs/${id}`
    case 'skill':
      return `/console/skills/${id}`
    case 'api_key':
      return '/console/organization/keys'
    case 'webhook_secret':
      return '/console/webhooks'
    default:
      return undefined
  }
}
