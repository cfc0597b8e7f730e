// Writes a file of generated traces:
// node ops/bench/generate.ts traces.jsonl [--megabytes 100] [--seed 1] [--calls growing] [--spans]
import { createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { makeTraces } from './made-traces.ts'
import type { MadeTrace } from './made-traces.ts'
import { modelCalls, readCalls } from './model-calls.ts'
import type { Calls } from './model-calls.ts'
import { PIECES } from './span-pieces.ts'

/** Which lines are made; the same choice gives the same lines. */
export interface Lines {
  /** The lines end with the first trace that reaches this size as our own lines. */
  readonly bytes: number
  /** Default 1. */
  readonly seed?: number
  readonly calls: Calls
}

/**
 * Lines of traces as agents leave them behind (see `makeTraces`), with two scores beside: as `POST /traces`
 * takes them, or, of the last call only, as OpenAI chat lines of about 17 kB.
 */
export function* generateTraceLines(lines: Lines): Generator<string> {
  for (const { line } of generateTraces(lines)) yield line
}

/**
 * The traces of `generateTraceLines` as a file of Langfuse observations, in the worst order there is: by
 * name, so that the pieces of a trace are as far apart as can be, and its scores behind all of them.
 */
export function* generateSpanLines(lines: Lines): Generator<string> {
  for (const piecesOf of PIECES) {
    for (const { trace } of generateTraces(lines)) {
      for (const piece of piecesOf(trace, lines.calls)) yield `${JSON.stringify(piece)}\n`
    }
  }
}

/** Writes lines as a file. */
export async function writeLines(path: string, lines: Iterable<string>) {
  await pipeline(Readable.from(lines), createWriteStream(path, { highWaterMark: 4 << 20 }))
}

function* generateTraces({ bytes, seed = 1, calls }: Lines) {
  let written = 0
  for (const trace of makeTraces(seed)) {
    if (written >= bytes) return
    const line = `${JSON.stringify(calls === 'last' ? trace : withCalls(trace))}\n`
    written += line.length
    yield { trace, line }
  }
}

function withCalls(trace: MadeTrace) {
  const { trace_id, agent_name, manifest_hash, session_id, task_id, status, tools } = trace
  const { started_at, duration_ms, metadata, scores } = trace
  const llm_calls = modelCalls(trace, 'growing').map((call) => ({
    model_name: 'gpt-4.1',
    rendered_input: call.input,
    output: call.output,
    tools,
    input_tokens: call.input_tokens,
    output_tokens: call.output_tokens,
    cost_usd: call.cost_usd,
  }))
  const run = { trace_id, agent_name, manifest_hash, session_id, task_id, status }
  return { ...run, started_at, duration_ms, metadata, scores, llm_calls }
}

if (import.meta.main) {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: {
      megabytes: { type: 'string', default: '100' },
      seed: { type: 'string', default: '1' },
      calls: { type: 'string', default: 'growing' },
      spans: { type: 'boolean', default: false },
    },
  })
  const [path = 'traces.jsonl'] = positionals
  const generate = values.spans ? generateSpanLines : generateTraceLines
  const bytes = Number(values.megabytes) * 1e6
  const lines = { bytes, seed: Number(values.seed), calls: readCalls(values.calls) }
  await writeLines(path, generate(lines))
}
