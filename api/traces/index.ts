import type { Area } from '../endpoint.ts'
import { annotateTrace } from './annotate-trace.ts'
import { createTrace } from './create-trace.ts'
import { createTraces } from './create-traces.ts'
import { deleteTrace } from './delete-trace.ts'
import { deleteTraces } from './delete-traces.ts'
import { listDatasetRows } from './list-dataset-rows.ts'
import { listSpans } from './list-spans.ts'
import { listTraces } from './list-traces.ts'
import { showSkillRaterConfig } from './show-skill-rater-config.ts'
import { showTraceStats } from './show-trace-stats.ts'
import { showTrace } from './show-trace.ts'

export const traces: Area = [
  createTrace,
  createTraces,
  listTraces,
  showTraceStats,
  showSkillRaterConfig,
  showTrace,
  listSpans,
  listDatasetRows,
  annotateTrace,
  deleteTrace,
  deleteTraces,
]
