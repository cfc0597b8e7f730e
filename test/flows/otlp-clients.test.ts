import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import type { Test } from 'tap'
import { bareEnv } from '../support/bare-env.ts'
import { loadHandlers } from '../support/handlers.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

// Programs in test/clients, each an application with an unmodified client of somebody else, which knows
// of this service no more than the variables of its environment say.

const service = await openService(t)
await service.server.start()
const address = service.server.info.uri
const org = await service.makeOrganization()
const client = service.client(org.key)
await service.startWorkers(await loadHandlers())

const QUESTION = { role: 'user', content: 'Weather in Paris?' }
const ANSWER = { role: 'assistant', content: 'It is sunny.' }

const SETTINGS = {
  OTEL_EXPORTER_OTLP_ENDPOINT: address,
  OTEL_EXPORTER_OTLP_HEADERS: `Authorization=Bearer ${org.key}`,
  OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
  OTEL_SERVICE_NAME: 'shop',
  LANGFUSE_BASE_URL: address,
  LANGFUSE_PUBLIC_KEY: 'pk-anything',
  LANGFUSE_SECRET_KEY: org.key,
  LANGFUSE_TIMEOUT: '60',
  OPENAI_API_KEY: 'none',
}
const COMPLETION = {
  id: 'completion-1',
  object: 'chat.completion',
  created: 1_760_000_000,
  model: 'gpt-4o-2024-08-06',
  choices: [{ index: 0, message: ANSWER, finish_reason: 'stop' }],
  usage: { prompt_tokens: 12, completion_tokens: 5, total_tokens: 17 },
}

for (const encoding of ['json', 'protobuf']) {
  t.test(`an application of OpenTelemetry sends ${encoding}`, async (t) => {
    const trace = await traceOf('open-telemetry.ts', encoding)
    t.match(trace, {
      agent_name: 'shop',
      session_id: 'conversation-1',
      status: 'success',
      source_type: 'production',
      span_count: 2,
      user_input_preview: QUESTION.content,
      final_output_preview: ANSWER.content,
      llm_calls: [
        {
          provider: 'openai',
          model_name: 'gpt-4o',
          rendered_input: [QUESTION],
          output: ANSWER,
          input_tokens: 12,
          output_tokens: 5,
        },
      ],
    })
    await isJudged(trace.trace_id)
  })
}

t.test('the SDK of Langfuse sends with its own key and path', async (t) => {
  const trace = await traceOf('langfuse.ts')
  t.match(trace, {
    status: 'success',
    span_count: 2,
    user_input_preview: QUESTION.content,
    final_output_preview: ANSWER.content,
    spans: [
      { name: 'shop', span_type: 'agent' },
      { name: 'answer', span_type: 'llm' },
    ],
    llm_calls: [
      {
        model_name: 'gpt-4o',
        rendered_input: [QUESTION],
        output: ANSWER,
        input_tokens: 12,
        output_tokens: 5,
      },
    ],
  })
  await isJudged(trace.trace_id)
})

t.test('a client of OpenAI that OpenInference instruments tells of its calls', async (t) => {
  const model = await openModel(t)
  const trace = await traceOf('openinference.ts', '', { OPENAI_BASE_URL: model })
  t.match(trace, {
    span_count: 2,
    llm_calls: [
      {
        provider: 'openai',
        model_name: 'gpt-4o-2024-08-06',
        rendered_input: [QUESTION],
        output: ANSWER,
        finish_reason: 'stop',
        input_tokens: 12,
        output_tokens: 5,
      },
    ],
  })
  await isJudged(trace.trace_id)
})

for (const names of ['own', 'gen_ai']) {
  t.test(`an agent of the Vercel AI SDK tells of its steps by ${names} names`, async (t) => {
    const trace = await traceOf('vercel-ai.ts', names)
    t.match(trace, { agent_name: 'shop', status: 'success' })
    t.match(trace.llm_calls, [
      {
        model_name: 'mock',
        rendered_input: [QUESTION],
        output: { tool_calls: [{ id: 'call_1', function: { name: 'weather' } }] },
        tools: [{ function: { name: 'weather' } }],
        tool_calls: [
          { id: 'call_1', tool_name: 'weather', args: { city: 'Paris' }, result: { sky: 'clear' } },
        ],
        finish_reason: /^tool.calls?$/,
        input_tokens: 12,
        output_tokens: 5,
      },
      { output: ANSWER, finish_reason: 'stop' },
    ])
    t.equal(trace.llm_calls.length, 2, 'what is asked of the SDK is no further call')
    await isJudged(trace.trace_id)
  })
}

/** The trace that a program sent, read as soon as it has ended. */
async function traceOf(program: string, argument = '', env: Record<string, string> = {}) {
  const child = spawn(process.execPath, [`test/clients/${program}`, argument], {
    env: { ...bareEnv(), ...SETTINGS, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close')])
  if (code !== 0) throw new Error(`${program} ended with ${String(code)}`)
  const { traceId } = JSON.parse(output) as { traceId: string }
  const { status, body } = await client.get(`/traces/${traceId}`)
  if (status !== 200) throw new Error(`${program} sent no trace ${traceId}`)
  return body
}

/** A judged trace has a verdict. */
function isJudged(traceId: string) {
  return until(async () => Boolean((await client.get(`/traces/${traceId}`)).body.eval_verdict))
}

/** A model that always gives the same answer. */
async function openModel(t: Test) {
  const server = createServer((request, response) => {
    request.resume()
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(COMPLETION))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
}
