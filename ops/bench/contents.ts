// What it costs to write, keep and open a trace whose calls each hold the whole conversation up to them,
// against the same conversation in one call, and against the form that repeats it:
// node ops/bench/contents.ts [--calls 9] [--traces 40] [--rounds 200] [--seed 1] [--smoke]
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { contentText, decodeContent, encodeContent } from '../../jobs/rules/traces/content.ts'
import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import type { TraceContent } from '../../jobs/rules/traces/trace.ts'
import { print, report, round } from './figures.ts'
import { readOptions } from './options.ts'

const { calls, traces, rounds, seed } = readOptions({
  calls: [9, 9],
  traces: [40, 20],
  rounds: [200, 5],
  seed: [1, 1],
})
const random = xoroshiro128plus(seed)
const below = (n: number) => uniformInt(random, 0, n - 1)

const words = Array.from({ length: 3000 }, () =>
  Array.from({ length: 2 + below(8) }, letter).join(''),
)
const tools = ['search', 'lookup', 'refund', 'mail'].map((name) => ({
  type: 'function',
  function: { name, description: text(200), parameters: { type: 'object', properties: {} } },
}))
const conversations = Array.from({ length: traces }, () => converse(calls))
const one = measure(conversations.map((messages) => contentOf(messages, messages.length - 1)))
const growing = measure(conversations.map((messages) => contentOf(messages, 2)))

print([
  rowOf('one call', one.whole, one.whole),
  rowOf(`${calls} growing calls, whole`, growing.whole, one.whole),
  rowOf(`${calls} growing calls, shared`, growing.shared, one.whole),
])
report(
  figure('opening a trace of growing calls', 'openUs', 'us'),
  figure('keeping a trace of growing calls', 'bytes', 'bytes'),
  figure('writing a trace of growing calls', 'writeUs', 'us'),
)

function figure(what: string, of: Exclude<keyof Figures, 'json'>, unit: string) {
  const [it, ceiling] = [growing.shared[of], one.whole[of]]
  const figures = `${Math.round(it)} against ${Math.round(ceiling)} ${unit}`
  return { what, ratio: round(it / ceiling), figures }
}

/** Opens and writes all contents in turn, in one form after the other; the best of the rounds. */
function measure(given: readonly TraceContent[]) {
  // As they come from a client: calls that share nothing in memory.
  const contents = given.map((content) => JSON.parse(contentText(content)) as TraceContent)
  return {
    whole: measureForm(contents, 'whole'),
    shared: measureForm(contents, 'shared'),
  }
}

function measureForm(contents: readonly TraceContent[], form: ContentForm): Figures {
  const stored = contents.map((content) => encodeContent(content, form))
  const micros = (work: () => void) => {
    const times = Array.from({ length: rounds }, () => {
      const start = performance.now()
      work()
      return ((performance.now() - start) * 1000) / contents.length
    })
    return Math.min(...times)
  }
  const sum = (lengths: readonly number[]) => lengths.reduce((total, each) => total + each, 0)
  return {
    json: sum(contents.map((content) => contentText(content).length)) / contents.length,
    bytes: sum(stored.map(({ length }) => length)) / contents.length,
    openUs: micros(() => stored.forEach((bytes) => void decodeContent(bytes))),
    writeUs: micros(() => contents.forEach((content) => void encodeContent(content, form))),
  }
}

function rowOf(what: string, { json, bytes, openUs, writeUs }: Figures, ceiling: Figures) {
  return {
    what,
    json_kb: round(json / 1000),
    stored_kb: round(bytes / 1000),
    stored_ratio: round(bytes / ceiling.bytes),
    open_us: Math.round(openUs),
    open_ratio: round(openUs / ceiling.openUs),
    write_us: Math.round(writeUs),
    write_ratio: round(writeUs / ceiling.writeUs),
  }
}

/** A conversation of about 17 kB in which the model is asked `calls` times, at last for its answer. */
function converse(calls: number): object[] {
  const turns = Array.from({ length: calls - 1 }, (_, i) => [
    {
      role: 'assistant',
      content: null,
      tool_calls: [callOf(`call_${i}`, { query: text(40), limit: below(50) })],
    },
    { role: 'tool', tool_call_id: `call_${i}`, content: text(12_000 / calls) },
  ])
  return [
    { role: 'system', content: text(3000) },
    { role: 'user', content: text(300) },
    ...turns.flat(),
    { role: 'assistant', content: text(600) },
  ]
}

function callOf(id: string, args: object) {
  return { id, type: 'function', function: { name: 'search', arguments: JSON.stringify(args) } }
}

/** Of the calls that were given so many messages, and two more each. */
function contentOf(messages: readonly object[], given: number): TraceContent {
  const llm_calls: object[] = []
  for (let count = given; count < messages.length; count += 2) {
    const rendered_input = messages.slice(0, count)
    llm_calls.push({ model_name: 'gpt-4.1', rendered_input, output: messages[count], tools })
  }
  const sent = { agent_name: 'support', llm_calls }
  const read = readTrace(sent, { traceId: () => 't', now: new Date(0) })
  if ('faults' in read) throw new Error(read.faults[0]?.message)
  return read.trace
}

function text(length: number) {
  let said = ''
  while (said.length < length) said += `${words[Math.min(below(3000), below(3000))]} `
  return said
}

function letter() {
  return String.fromCodePoint(97 + below(26))
}

/** Of one trace. */
interface Figures {
  readonly json: number
  readonly bytes: number
  readonly openUs: number
  readonly writeUs: number
}
