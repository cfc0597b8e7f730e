import type { RestoredTrace } from '../../../jobs/rules/import/backup/restored-content.ts'
import { openTraceEncoder } from '../../../sql/import/restored-traces.ts'
import type { LineFault } from '../containers/upload-fault.ts'

/**
 * Encodes traces, each once all lines about it were read. One that a faulty line is about is left out: were it
 * stored, restoring the whole would skip it, and the line with it.
 */
export function openUnits(orgId: string) {
  const encoder = openTraceEncoder(orgId)
  const leftOut: LineFault[] = []
  let held: HeldTrace | undefined
  let count = 0
  // Lines before the first trace are about the one that the chunk before ended with.
  let isBefore = true
  let openFault: number | undefined

  /** A line comes that is not about the trace before it. */
  function close() {
    if (held?.faultLine !== undefined) leftOut.push(leftOutBy(held.faultLine, held.entry.line))
    else if (held) {
      encoder.add(held.project, held.row)
      held.entry.place = count++
    }
    held = undefined
    isBefore = false
  }

  return {
    close,
    /** A trace comes. The place of its entry is set once its lines were read. */
    hold(trace: HeldTrace) {
      close()
      held = trace
    },
    /** A faulty line comes that is about the trace before it. */
    spoil(line: number) {
      if (held) held.faultLine ??= line
      else if (isBefore) openFault ??= line
    },
    take() {
      close()
      return { traces: encoder.take(), leftOut, openFault }
    },
  }
}

/** @param faultLine of the faulty line about the trace; @param line of the trace */
export function leftOutBy(faultLine: number, line: number): LineFault {
  const message = `The trace is left out because of line ${faultLine}, which is about it; restoring it whole adds it`
  return { line, code: 'left_out', message }
}

interface HeldTrace {
  readonly entry: { readonly line: number; place: number | null }
  readonly project: string
  readonly row: RestoredTrace
  faultLine?: number
}
