import t from 'tap'
import { langfuse } from '../../jobs/rules/import/langfuse/langfuse.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import type { Trace } from '../../jobs/rules/traces/trace.ts'
import { generateSpanLines, generateTraceLines } from '../../ops/bench/generate.ts'
import type { Calls } from '../../ops/bench/model-calls.ts'

for (const calls of ['growing', 'last'] as const) {
  t.test(`the same seed gives the same lines, another gives others: ${calls} calls`, async (t) => {
    const lines = (seed: number) => ({ bytes: 5e5, seed, calls })
    t.strictSame([...generateTraceLines(lines(1))], [...generateTraceLines(lines(1))])
    t.strictSame([...generateSpanLines(lines(1))], [...generateSpanLines(lines(1))])
    t.not([...generateTraceLines(lines(2))][0], [...generateTraceLines(lines(1))][0])
  })

  t.test(`lines end with the first that reaches the size: ${calls} calls`, async (t) => {
    const lines = [...generateTraceLines({ bytes: 5e5, seed: 1, calls })]
    const bytes = lines.join('').length
    t.ok(bytes >= 5e5, `${bytes} bytes`)
    t.ok(bytes - (lines.at(-1) ?? '').length < 5e5)
  })

  t.test(`pieces of the spans are those of the traces: ${calls} calls`, async (t) => {
    const ids = [...generateTraceLines({ bytes: 5e5, calls })].map((line) => idIn(line, 'trace_id'))
    const pieces = [...generateSpanLines({ bytes: 5e5, calls })]
    t.strictSame([...new Set(pieces.map((line) => idIn(line, 'traceId')))], ids)
    const names = pieces.map((line) => idIn(line, 'id'))
    t.equal(new Set(names).size, names.length, 'each has an id of its own')
    t.ok(pieces.every((line) => langfuse.matches(JSON.parse(line))))
  })
}

t.test('a growing call is given all that was said before it', async (t) => {
  for (const trace of readTraces('growing')) {
    for (const [index, { rendered_input, output }] of trace.llm_calls.entries()) {
      const next = trace.llm_calls[index + 1]
      const said = next?.rendered_input.slice(0, rendered_input.length + 1)
      if (next) t.strictSame(said, [...rendered_input, output])
    }
  }
})

t.test('growing calls are about nine, and eight times the size of the last one', async (t) => {
  const traces = readTraces('growing')
  const mean = (numbers: number[]) => numbers.reduce((sum, n) => sum + n, 0) / numbers.length
  const callCount = mean(traces.map(({ llm_calls }) => llm_calls.length))
  t.ok(callCount > 7 && callCount < 11, `${callCount} calls`)
  const whole = mean(traces.map(({ llm_calls }) => JSON.stringify(llm_calls).length))
  const last = mean(traces.map(({ llm_calls }) => JSON.stringify(llm_calls.at(-1)).length))
  t.ok(whole / last > 5 && whole / last < 11, `${whole} and ${last} bytes`)
})

function readTraces(calls: Calls): Trace[] {
  return [...generateTraceLines({ bytes: 1e7, calls })].map((line) => {
    const read = readTrace(JSON.parse(line), { traceId: () => '', now: new Date() })
    if ('faults' in read) throw new Error(JSON.stringify(read.faults))
    return read.trace
  })
}

function idIn(line: string, name: string) {
  return (JSON.parse(line) as Readonly<Record<string, unknown>>)[name]
}
