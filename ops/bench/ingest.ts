// How fast traces are taken in, one by one and in batches, against a bare hapi route that does one
// INSERT of the same body, both over the network from this process:
// [DATABASE_URL=...] node ops/bench/ingest.ts [--seconds 5] [--connections 32] [--batch 100]
// [--calls growing] [--smoke]
import { randomUUIDv7 } from 'node:crypto'
import postgres from 'postgres'
import { print, report, round, whole } from './figures.ts'
import { compareServers, LOAD_SIZES, serveApi, serveBare, SERVER_OPTIONS } from './http-load.ts'
import { readCalls } from './model-calls.ts'
import { readOptions } from './options.ts'
import { withBenchDatabase } from './prepare.ts'

const options = readOptions(
  { ...LOAD_SIZES, batch: [100, 10] },
  { ...SERVER_OPTIONS, calls: { type: 'string', default: 'growing' } },
)
const calls = readCalls(options.calls)
const PROSE =
  'You help customers of a shop. Be brief, never guess, and use the tools you have. '.repeat(24)

if (options.serve === 'service') await serveApi(options.url)
else if (options.serve === 'bare') await serveInsert(options.url)
else await compare()

async function compare() {
  await withBenchDatabase('ingest', async ({ url, sql, key }) => {
    await sql`create table bare (trace_id text primary key, body jsonb not null)`
    const rows = await measureBoth(url, key)
    print(rows)
    const figures = rows.map(({ ingest, ratio, service_traces_s, bare_traces_s }) => ({
      what: `traces ${ingest}, ${calls} calls`,
      ratio,
      figures: `${whole(service_traces_s)} against ${whole(bare_traces_s)} a second`,
    }))
    report(...figures)
  })
}

async function measureBoth(url: string, key: string) {
  const rows = []
  for (const [name, path, batch] of [
    ['one a request', '/api/v1/traces', 1],
    [`in batches of ${options.batch}`, '/api/v1/traces/batch', options.batch],
  ] as const) {
    const request = () => makeRequest(key, path, batch)
    const requests = await compareServers(import.meta.filename, { ...options, url }, request)
    rows.push({
      ingest: name,
      bare_traces_s: Math.round(batch * requests.bare),
      service_traces_s: Math.round(batch * requests.service),
      ratio: round(requests.service / requests.bare),
    })
  }
  return rows
}

function makeRequest(key: string, path: string, batch: number) {
  const traces = Array.from({ length: batch }, makeTrace)
  const body = JSON.stringify(batch === 1 ? traces[0] : traces)
  return Buffer.from(
    `POST ${path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer ${key}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  )
}

/** A short conversation with one tool call: about 3 kB as one call of the model, 5 kB as two. */
function makeTrace() {
  const id = randomUUIDv7()
  const asked = [
    { role: 'system', content: PROSE },
    { role: 'user', content: `Where is my order ${id}?` },
  ]
  const call = {
    id: 'call_1',
    type: 'function',
    function: { name: 'find_order', arguments: '{"id":"W1"}' },
  }
  const looked = { role: 'assistant', content: null, tool_calls: [call] }
  return {
    trace_id: id,
    agent_name: 'bench-agent',
    session_id: id.slice(0, 13),
    tags: ['bench'],
    metadata: { region: 'eu' },
    started_at: '2026-01-02T03:04:05Z',
    ended_at: '2026-01-02T03:04:09Z',
    spans: [{ id: 'span-1', span_type: 'agent', name: 'run' }],
    llm_calls: [
      ...(calls === 'growing'
        ? [{ span_id: 'span-1', model_name: 'model-1', rendered_input: asked, output: looked }]
        : []),
      {
        span_id: 'span-1',
        model_name: 'model-1',
        rendered_input: [
          ...asked,
          looked,
          {
            role: 'tool',
            tool_call_id: 'call_1',
            content: '{"status":"shipped","eta":"tomorrow"}',
          },
        ],
        output: { content: 'It was shipped and arrives tomorrow.' },
        tool_calls: [
          { id: 'call_1', tool_name: 'find_order', args: { id: 'W1' }, status: 'success' },
        ],
        input_tokens: 600,
        output_tokens: 12,
        latency_ms: 900,
        cost_usd: 0.002,
      },
    ],
  }
}

async function serveInsert(url: string) {
  const sql = postgres(url, { max: 16 })
  await serveBare([
    {
      method: 'POST',
      path: '/api/v1/traces',
      handler: async ({ payload }) => {
        const trace = payload as { trace_id: string }
        await sql`
          insert into bare (trace_id, body)
          values (${trace.trace_id}, ${JSON.stringify(trace)}::text::jsonb)`
        return { trace_id: trace.trace_id }
      },
    },
    {
      method: 'POST',
      path: '/api/v1/traces/batch',
      options: { payload: { maxBytes: 50 << 20 } },
      handler: async ({ payload }) => {
        await sql`
          insert into bare (trace_id, body) select value ->> 'trace_id', value
          from jsonb_array_elements(${JSON.stringify(payload)}::text::jsonb)`
        return { count: (payload as unknown[]).length }
      },
    },
  ])
}
