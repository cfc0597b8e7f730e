import { anyText, anyTime, shape } from '../../shape.ts'
import type { Valid } from '../../shape.ts'

/** Where a page of traces begins, in the order of start and id: after this one, which is stored. */
export const tracePosition = shape({ started_at: anyTime(), trace_id: anyText() })

export type TracePosition = Valid<typeof tracePosition>
