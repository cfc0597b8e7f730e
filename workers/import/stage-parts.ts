import { box, unbox } from '../../jobs/rules/import/box.ts'
import type { FormatName } from '../../jobs/rules/import/detect.ts'
import type { Part, SpanScore } from '../../jobs/rules/import/format.ts'
import { tellsScores } from '../../jobs/rules/import/trace-parts.ts'
import type { PartsRow, PiecedTrace } from '../../sql/import/import-parts.ts'
import { measureJson } from './containers/measure-json.ts'
import type { LineFault } from './containers/upload-fault.ts'

/** A piece of a trace, and where it was found. */
export interface FoundPart {
  readonly format: FormatName
  readonly line: number
  readonly part: Part | SpanScore
}

/** A piece of a trace as it is staged: of which trace the row says. */
export type StagedPart = Pick<Part, 'kind' | 'id' | 'value'> & Pick<FoundPart, 'format'>

/** The parts of a chunk, by trace. */
export interface PartsByTrace {
  readonly traces: readonly PiecedTrace[]
  readonly rows: readonly PartsRow[]
  /** For `openSpans`. */
  readonly spans: Uint8Array
  readonly faults: readonly LineFault[]
}

/**
 * Joins the parts of each trace into a row, and scores that name only a span into one for each span. Of
 * traces that the project has only what tells scores is kept: nothing else of them can change.
 * @param records the parts of one record each
 */
export function joinParts(
  records: readonly (readonly FoundPart[])[],
  known: ReadonlySet<string>,
): PartsByTrace {
  const traces = new Map<string, TracePieces>()
  const spanScores = new Map<string, string[]>()
  const faults: LineFault[] = []
  for (const parts of records) {
    const texts = textsOf(parts, known)
    if (!texts) faults.push({ line: parts[0]?.line ?? 1, ...TOO_LARGE })
    else parts.forEach((found, i) => addText(traces, spanScores, placed(found, known), texts[i]))
  }
  const list = [...traces]
  return {
    traces: list.map(([trace_id, { firstLine }]) => ({
      trace_id,
      first_line: firstLine,
      is_known: known.has(trace_id),
    })),
    rows: [
      ...list.flatMap(([trace_id, { texts }]) =>
        texts.length > 0 ? rowOf({ trace_id, span_id: '' }, texts) : [],
      ),
      ...[...spanScores].map(([span_id, texts]) => rowOf({ trace_id: '', span_id }, texts)),
    ],
    spans: box(JSON.stringify(list.map(([id, { spanIds }]) => [id, spanIds]))),
    faults,
  }
}

/**
 * The parts in the contents of rows, as they were staged. Undefined where they hold more values than
 * `MAX_TRACE_VALUES`: a text of little else than brackets takes many times its own memory.
 */
export function openParts(contents: readonly Uint8Array[]): StagedPart[] | undefined {
  const texts = contents.map(unbox)
  const bytes = texts.reduce((sum, { length }) => sum + length, 0)
  if (bytes > MAX_TRACE_VALUES) {
    const values = texts.reduce((sum, text) => sum + measureJson(text).values, 0)
    if (values > MAX_TRACE_VALUES) return undefined
  }
  return texts.flatMap((text) => JSON.parse(text.toString()) as StagedPart[])
}

/** The traces of which a chunk has parts, with the ids of their spans there. */
export function openSpans(spans: Uint8Array) {
  return JSON.parse(unbox(spans).toString()) as readonly (readonly [
    traceId: string,
    spanIds: readonly string[],
  ])[]
}

/**
 * The parts as JSON, undefined for one that is not kept. Undefined where they are too large together:
 * parts may share members, which are written once for each.
 */
function textsOf(parts: readonly FoundPart[], known: ReadonlySet<string>) {
  const texts: (string | undefined)[] = []
  let length = 0
  for (const { format, part } of parts) {
    const { trace_id, kind, id, value } = part
    const isKept = trace_id === null || !known.has(trace_id) || tellsScores(format, part)
    const staged: StagedPart = { format, kind, id, value }
    const text = isKept ? JSON.stringify(staged) : undefined
    length += text?.length ?? 0
    if (length > MAX_RECORD_CHARACTERS) return undefined
    texts.push(text)
  }
  return texts
}

/** A score that names no trace is of the one with that id, if the project has it. */
function placed({ line, part }: FoundPart, known: ReadonlySet<string>): Placed {
  if (part.trace_id === null && known.has(part.span_id)) {
    return { line, part: { ...part, trace_id: part.span_id } }
  }
  return { line, part }
}

function addText(
  traces: Map<string, TracePieces>,
  spanScores: Map<string, string[]>,
  { line, part }: Placed,
  text: string | undefined,
) {
  if (part.trace_id === null) {
    const texts = spanScores.get(part.span_id) ?? []
    spanScores.set(part.span_id, texts)
    if (text !== undefined) texts.push(text)
    return
  }
  const pieces = traces.get(part.trace_id) ?? { firstLine: line, texts: [], spanIds: [] }
  traces.set(part.trace_id, pieces)
  if (text !== undefined) pieces.texts.push(text)
  if (part.kind === 'span') pieces.spanIds.push(part.id)
}

function rowOf(of: Pick<PartsRow, 'trace_id' | 'span_id'>, texts: readonly string[]): PartsRow {
  const text = `[${texts.join()}]`
  return {
    ...of,
    bytes: Buffer.byteLength(text),
    part_count: texts.length,
    content: box(text),
  }
}

/** Of one trace; four times what 50,000 LLM calls hold. */
export const MAX_TRACE_VALUES = 5_000_000
/** Four times the largest record. */
const MAX_RECORD_CHARACTERS = 64 << 20
const TOO_LARGE = {
  code: 'too_long',
  message: 'The record is larger than 64 MiB once what its parts share is written for each of them',
}

/** What a chunk has of one trace. */
interface TracePieces {
  readonly firstLine: number
  readonly texts: string[]
  readonly spanIds: string[]
}
type Placed = Pick<FoundPart, 'line' | 'part'>
