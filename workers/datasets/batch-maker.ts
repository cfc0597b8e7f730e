import { pairText } from '../../jobs/rules/datasets/formats.ts'
import { correctConversation } from '../../jobs/rules/datasets/messages.ts'
import type { Dropped, TrainingMessage } from '../../jobs/rules/datasets/messages.ts'
import { choosePairs, compareCorrection, makeAttempt } from '../../jobs/rules/datasets/pairs.ts'
import type { Attempt, Pair } from '../../jobs/rules/datasets/pairs.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import {
  finishRow,
  longestOf,
  openRowMaker,
  provenanceText,
  readTrained,
} from '../../jobs/rules/datasets/rows.ts'
import type { Candidate, CandidateContent, Row } from '../../jobs/rules/datasets/rows.ts'
import { openToolReader, toolsOf } from '../../jobs/rules/datasets/tools.ts'
import type { Toolbox } from '../../jobs/rules/datasets/tools.ts'
import { decodeContent } from '../../jobs/rules/traces/trace-row.ts'

/** A selected trace as the row list holds it. */
export type ListedTrace = Candidate & {
  /** Index in the order of trace ids. */
  index: number
  /** Index in `SPLITS`. */
  splitIndex: number
  content_bytes: number
  created_at: Date
}

/** A trace with its compressed content. */
export interface RawTrace {
  readonly trace: ListedTrace
  readonly content: Uint8Array
  readonly user_input_preview: string | null
  readonly final_output_preview: string | null
  readonly corrected_output: string | null
}

/** The lines of rows, one after the other, and what is known of each row. */
export interface MadeRows {
  readonly lines: Uint8Array<ArrayBuffer>
  readonly rows: readonly MadeRow[]
  /** The reasons why something gave no row, each as often as it came up. */
  readonly dropped: readonly string[]
  /** How many of the traces were taken; pass the others again. */
  readonly taken: number
}

export interface MadeRow {
  readonly traceIndex: number
  /** The rejected trace of a pair; otherwise null. A corrected trace is both chosen and rejected. */
  readonly rejectedIndex: number | null
  /** The length ratio of a pair of attempts; otherwise null. */
  readonly lengthRatio: number | null
  readonly splitIndex: number
  readonly hash: Uint8Array
  readonly tokens: number
  /** Bytes of its line, line feed included. */
  readonly length: number
}

/** Makes rows of traces that come in batches. For pairs, the traces of one task must follow each other. */
export interface BatchMaker {
  /** Takes traces, at least one, until the lines of their rows reach `MADE_BYTES`. */
  make(traces: readonly RawTrace[]): MadeRows
  /** Makes the rows of what was held back for traces that might have come. */
  finish(): MadeRows
}

export function openBatchMaker(recipe: Recipe): BatchMaker {
  const takes = recipe.dataset_type === 'dpo' ? openPairTaker(recipe) : openRowTaker(recipe)
  return {
    make(traces) {
      const output = openOutput(recipe)
      let taken = 0
      for (const { content, trace, ...previews } of traces) {
        if (output.bytes() >= MADE_BYTES) break
        takes.take(trace, { ...decodeContent(content), ...previews }, output)
        taken++
      }
      return { ...output.finish(), taken }
    },
    finish() {
      const output = openOutput(recipe)
      takes.finish(output)
      return { ...output.finish(), taken: 0 }
    },
  }
}

function openRowTaker(recipe: Recipe): Taker {
  const rowsOf = openRowMaker(recipe)
  return {
    take(trace, content, output) {
      for (const row of rowsOf(trace, content)) output.put(row, { trace })
    },
    finish: () => undefined,
  }
}

/** Works task by task: it holds the attempts at one together, up to `TASK_LENGTH`. */
function openPairTaker(recipe: Recipe): Taker {
  const readTools = openToolReader()
  let attempts: Tried[] = []
  let length = 0
  function finish(output: Output) {
    pairUp(attempts, recipe, output)
    attempts = []
    length = 0
  }
  return {
    finish,
    take(trace, content, output) {
      if (attempts[0] && attempts[0].trace.task_id !== trace.task_id) finish(output)
      const declared = readTools(content.llm_calls)
      const { corrected_output } = content
      if (corrected_output !== null) {
        return output.put(correctedPair(content, corrected_output, declared, recipe), {
          trace,
          rejected: trace,
        })
      }
      const tried = tryOf(trace, content, declared)
      if ('reason' in tried) return output.drop(tried.reason)
      length += tried.length
      if (length > TASK_LENGTH || attempts.length === TASK_ATTEMPTS) {
        return output.drop('task_too_large')
      }
      attempts.push(tried)
    },
  }
}

function tryOf(trace: ListedTrace, content: CandidateContent, declared: Toolbox): Tried | Dropped {
  const messages = longestOf(content)
  const read = 'reason' in messages ? messages : readTrained(messages, declared)
  if ('reason' in read) return read
  if (trace.quality === null) return { reason: 'unscored' }
  const attempt = makeAttempt(trace.index, trace.quality, read.messages, read.tools)
  return { ...attempt, trace, declared }
}

function pairUp(attempts: readonly Tried[], recipe: Recipe, output: Output) {
  const { pairs, dropped } = choosePairs(attempts)
  for (const [reason, n] of dropped) output.drop(reason, n)
  for (const { chosen, rejected, turn, chosenTurn, rejectedTurn, lengthRatio } of pairs) {
    const turns = { turn, chosenTurn, rejectedTurn }
    const row = pairRow(turns, chosen.messages, chosen.declared, recipe, false)
    output.put(row, { trace: chosen.trace, rejected: rejected.trace, lengthRatio })
  }
}

/** The pair of what a person wrote, which is chosen, and what the trace said instead. */
function correctedPair(
  content: CandidateContent,
  corrected_output: string,
  declared: Toolbox,
  recipe: Recipe,
): Row | Dropped {
  const messages = longestOf(content)
  if ('reason' in messages) return messages
  const said = readTrained(messages, declared)
  if ('reason' in said) return said
  const corrected = readTrained(correctConversation(messages, corrected_output), declared)
  if ('reason' in corrected) return corrected
  const turns = compareCorrection(corrected.messages, said.messages)
  return 'reason' in turns ? turns : pairRow(turns, corrected.messages, declared, recipe, true)
}

function pairRow(
  { turn, chosenTurn, rejectedTurn }: Pick<Pair, 'turn' | 'chosenTurn' | 'rejectedTurn'>,
  messages: readonly TrainingMessage[],
  declared: Toolbox,
  recipe: Recipe,
  corrected: boolean,
) {
  const prompt = messages.slice(0, turn).map((message) => ({ ...message, weight: 0 as const }))
  const tools = toolsOf(declared, [...prompt, chosenTurn, rejectedTurn])
  const turns = { prompt, chosen: chosenTurn, rejected: rejectedTurn }
  return finishRow(pairText(turns, tools, recipe.options.format), recipe, corrected)
}

function openOutput(recipe: Recipe) {
  const pieces: Buffer[] = []
  const rows: MadeRow[] = []
  const dropped: string[] = []
  let bytes = 0
  function drop(reason: string, n = 1) {
    for (let i = 0; i < n; i++) dropped.push(reason)
  }
  return {
    drop,
    bytes: () => bytes,
    put(row: Row | Dropped, { trace, rejected, lengthRatio }: Origin) {
      if ('reason' in row) return drop(row.reason)
      const tail = Buffer.from(`,"provenance":${provenanceText(trace, row, recipe, rejected)}}\n`)
      const length = row.training.length - 1 + tail.length
      if (length > MAX_LINE_BYTES) return drop('too_long')
      pieces.push(row.training.subarray(0, -1), tail)
      bytes += length
      rows.push({
        traceIndex: trace.index,
        rejectedIndex: rejected?.index ?? null,
        lengthRatio: lengthRatio ?? null,
        splitIndex: trace.splitIndex,
        hash: row.hash,
        tokens: row.tokens,
        length,
      })
    },
    finish() {
      // An array with memory of its own, which can be transferred to another thread.
      const lines = new Uint8Array(bytes)
      let at = 0
      for (const piece of pieces) {
        lines.set(piece, at)
        at += piece.length
      }
      return { lines, rows, dropped }
    },
  }
}

/** Whatever reads the lines has buffers of twice this size. */
const MAX_LINE_BYTES = 16 << 20
/** How many bytes of lines are made at once. Compressed bytes are no measure: some contents shrink far more. */
export const MADE_BYTES = 16 << 20
/** The limit of all attempts at one task together, in characters of JSON. */
const TASK_LENGTH = 64 << 20
const TASK_ATTEMPTS = 1000

interface Taker {
  take(trace: ListedTrace, content: CandidateContent, output: Output): void
  finish(output: Output): void
}
type Output = ReturnType<typeof openOutput>
type Tried = Attempt & { trace: ListedTrace; declared: Toolbox }
interface Origin {
  readonly trace: ListedTrace
  readonly rejected?: ListedTrace
  readonly lengthRatio?: number
}
