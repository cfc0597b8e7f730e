import type { Area } from '../endpoint.ts'
import { exportPrompts } from './export-prompts.ts'
import { exportSessions } from './export-sessions.ts'

export const replay: Area = [exportPrompts, exportSessions]
