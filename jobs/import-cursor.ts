import { anyText, bool, count, oneOf, shape } from './shape.ts'

/** Why what was to be read could not be read, or not to its end. */
const importFault = shape({ code: anyText(), message: anyText() })

/** What the checkpoints of all imports hold, wherever their records come from. */
export const cursorMembers = {
  /** Records read, or lines where they are one a line. */
  line: count(),
  /** The run that stored it. */
  attempt: count(),
  /** Whether that run ended with it of its own accord. */
  isSliceEnd: bool(),
}

/** What they hold once parts of traces were staged. */
export const stagingMembers = {
  /** Of the next chunk that holds parts of traces; absent while none did. */
  chunk_no: count(),
  /** Whether scores were read that name only a span. */
  span_scores: bool(),
  /**
   * Absent while records are read. `place` while the traces of scores are found that name only a
   * span, `assemble` while traces are put together.
   */
  phase: oneOf('place', 'assemble'),
  /** The last chunk whose spans such scores were compared with. */
  placed_chunk_no: count(),
  /** Why the file could not be read to its end, until its parts are put together. */
  broken: importFault,
  /** The last trace that was put together, by the line of its first part. */
  after: shape({ first_line: count(), trace_id: anyText() }),
  /** How many traces were put together. */
  assembled: count(),
  /** Set with the last chunk or trace. `fault`: why the file could not be read, or not to its end. */
  end: shape({}, { fault: importFault }),
}

/** What became of an import that is retried after what it had staged was deleted. */
export const partsGone = {
  code: 'parts_gone',
  message: 'What was read is not there any more: import it again',
} as const
