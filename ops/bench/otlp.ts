// How fast spans are taken in over OTLP: in batches of 512 by four clients against a bare hapi route that
// does one INSERT of the same body, and a trace of 1,000 spans that come one by one:
// [DATABASE_URL=...] node ops/bench/otlp.ts [--seconds 5] [--connections 4] [--singles 1000] [--smoke]
import { randomBytes } from 'node:crypto'
import postgres from 'postgres'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../api-context.ts'
import { print, report, round, whole } from './figures.ts'
import { compareServers, LOAD_SIZES, serveApi, serveBare, SERVER_OPTIONS } from './http-load.ts'
import { readOptions } from './options.ts'
import { withBenchDatabase } from './prepare.ts'

const options = readOptions(
  { ...LOAD_SIZES, connections: [4, 2], singles: [1000, 200] },
  SERVER_OPTIONS,
)
const PATH = '/v1/traces'
const SPANS_A_REQUEST = 512
/** A trace of an agent with some dozens of steps. */
const SPANS_A_TRACE = 64
const PROSE = 'You help customers of a shop. Be brief, never guess, and use your tools. '.repeat(12)
const TOOL = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': 'find_order' }
/** In nanoseconds. */
const BEGIN = BigInt(Date.parse('2026-01-02T03:04:05Z')) * 1_000_000n

if (options.serve === 'service') await serveApi(options.url)
else if (options.serve === 'bare') await serveInsert(options.url)
else await compare()

async function compare() {
  await withBenchDatabase('otlp', async ({ url, sql, key }) => {
    await sql`create table bare (id bigint generated always as identity, body jsonb not null)`
    const load = { ...options, url }
    const { bare, service } = await compareServers(import.meta.filename, load, () => batch(key))
    print([
      {
        otlp: `batches of ${SPANS_A_REQUEST}`,
        bare_spans_s: Math.round(SPANS_A_REQUEST * bare),
        service_spans_s: Math.round(SPANS_A_REQUEST * service),
        ratio: round(service / bare),
      },
    ])
    const singles = await sendOneByOne(url, key)
    print([singles])
    report(
      {
        what: `spans over OTLP, ${SPANS_A_REQUEST} a request`,
        ratio: round(service / bare),
        figures: `${whole(SPANS_A_REQUEST * service)} against ${whole(SPANS_A_REQUEST * bare)} spans a second`,
      },
      {
        what: 'spans over OTLP one by one: the last of a trace to its first',
        ratio: singles.ratio,
        figures: `${singles.last_100_ms} against ${singles.first_100_ms} ms a request`,
      },
    )
  })
}

/** Milliseconds a request, of the first and the last hundred. */
async function sendOneByOne(url: string, key: string) {
  const opened = await openApiContext(readConfig({ LOG_LEVEL: 'error', DATABASE_URL: url }), url)
  const api = await createApi(opened.context)
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  async function send(trace: string, index: number) {
    const began = performance.now()
    const payload = requestOf([spanOf(trace, index)])
    const { statusCode } = await api.inject({ method: 'POST', url: PATH, headers, payload })
    if (statusCode !== 200) throw new Error(`answered with ${statusCode}`)
    return performance.now() - began
  }
  for (let i = 0; i < options.singles / 5; i++) await send(randomId(16), 0)
  const trace = randomId(16)
  const times: number[] = []
  for (let i = 0; i < options.singles; i++) times.push(await send(trace, i))
  await api.stop()
  await opened.close()
  const [first, last] = [mean(times.slice(0, 100)), mean(times.slice(-100))]
  return {
    otlp: `${options.singles} single spans of a trace`,
    first_100_ms: round(first),
    last_100_ms: round(last),
    ratio: round(last / first),
  }
}

function batch(key: string) {
  const spans = Array.from({ length: SPANS_A_REQUEST / SPANS_A_TRACE }, () => {
    const trace = randomId(16)
    return Array.from({ length: SPANS_A_TRACE }, (_, i) => spanOf(trace, i))
  })
  const body = JSON.stringify(requestOf(spans.flat()))
  return Buffer.from(
    `POST ${PATH} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

function requestOf(spans: readonly object[]) {
  const resource = { attributes: attributesOf({ 'service.name': 'bench-agent' }) }
  return { resourceSpans: [{ resource, scopeSpans: [{ spans }] }] }
}

/** Of four spans two are calls of a model and one of a tool; the first encloses all others. */
function spanOf(traceId: string, index: number) {
  const spanId = (index + 1).toString(16).padStart(16, '0')
  const begin = BEGIN + BigInt(index) * 1_000_000_000n
  return {
    traceId,
    spanId,
    ...(index > 0 && { parentSpanId: '1'.padStart(16, '0') }),
    name: `step ${index}`,
    kind: 1,
    startTimeUnixNano: String(begin),
    endTimeUnixNano: String(begin + 900_000_000n),
    attributes: attributesOf(index % 2 === 1 ? callOf(index) : TOOL),
    status: {},
  }
}

function callOf(index: number) {
  const said = (role: string, content: string) =>
    JSON.stringify([{ role, parts: [{ type: 'text', content }] }])
  return {
    'gen_ai.operation.name': 'chat',
    'gen_ai.request.model': 'model-1',
    'gen_ai.input.messages': said('user', `${PROSE} Where is my order W${index}?`),
    'gen_ai.output.messages': said('assistant', `Order W${index} arrives tomorrow.`),
  }
}

function attributesOf(attributes: Readonly<Record<string, string>>) {
  return Object.entries(attributes).map(([key, stringValue]) => ({ key, value: { stringValue } }))
}

function randomId(bytes: number) {
  return randomBytes(bytes).toString('hex')
}

function mean(times: readonly number[]) {
  return times.reduce((sum, ms) => sum + ms, 0) / times.length
}

async function serveInsert(url: string) {
  const sql = postgres(url, { max: 16 })
  await serveBare([
    {
      method: 'POST',
      path: PATH,
      options: { payload: { maxBytes: 50 << 20 } },
      handler: async ({ payload }) => {
        await sql`insert into bare (body) values (${JSON.stringify(payload)}::text::jsonb)`
        return { partialSuccess: {} }
      },
    },
  ])
}
