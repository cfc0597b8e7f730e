import t from 'tap'
import { loadHandlers } from '../../support/handlers.ts'
import { openService } from '../../support/service.ts'

const service = await openService(t)
await service.startWorkers(await loadHandlers())

const TRACE = '0af7651916cd43dd8448eb211c80319c'
const ROOT = {
  name: 'support',
  context: { trace_id: TRACE, span_id: 'b7ad6b7169203331' },
  span_kind: 'AGENT',
  parent_id: null,
  start_time: '2026-11-03T10:00:00+00:00',
  end_time: '2026-11-03T10:00:05+00:00',
  status_code: 'OK',
  attributes: {
    'agent.name': 'support',
    'session.id': 's-1',
    'input.value': 'Weather in Paris?',
    'output.value': 'It is sunny.',
  },
}
const CALL = {
  name: 'ChatCompletion',
  context: { trace_id: TRACE, span_id: '00f067aa0ba902b7' },
  span_kind: 'LLM',
  parent_id: ROOT.context.span_id,
  start_time: '2026-11-03T10:00:01+00:00',
  end_time: '2026-11-03T10:00:02+00:00',
  status_code: 'OK',
  attributes: {
    'llm.model_name': 'gpt-4o',
    'llm.input_messages.0.message.role': 'user',
    'llm.input_messages.0.message.content': 'Weather in Paris?',
    'llm.output_messages.0.message.role': 'assistant',
    'llm.output_messages.0.message.content': 'It is sunny.',
  },
}
const ANNOTATION = {
  id: 'annotation-1',
  name: 'correctness',
  annotator_kind: 'HUMAN',
  result: { score: 1 },
  trace_id: TRACE,
  span_id: CALL.context.span_id,
}

t.test('spans and annotations of Phoenix are one trace with its scores', async (t) => {
  const client = service.client((await service.makeOrganization()).key)
  const upload = (records: readonly object[]) =>
    client.call('POST', '/import/jsonl', records.map((each) => JSON.stringify(each)).join('\n'), {
      'content-type': 'application/x-ndjson',
    })

  const ofSpan = { ...ANNOTATION, id: 'annotation-2', name: 'tone', trace_id: undefined }
  const lost = { ...ofSpan, id: 'annotation-3', span_id: 'ffffffffffffffff' }
  t.match(await upload([ANNOTATION, ofSpan, CALL, lost, ROOT]), {
    status: 200,
    body: { status: 'succeeded', imported_count: 1, losses: { score_without_trace: 1 } },
  })
  t.match((await client.get(`/traces/${TRACE}`)).body, {
    agent_name: 'support',
    session_id: 's-1',
    status: 'success',
    user_input_preview: 'Weather in Paris?',
    final_output_preview: 'It is sunny.',
    spans: [{ id: ROOT.context.span_id }, { id: CALL.context.span_id }],
    llm_calls: [{ model_name: 'gpt-4o', output: { content: 'It is sunny.' } }],
    metadata: { import: { source: 'phoenix' } },
  })
  const scores = async () =>
    (await client.get(`/traces/${TRACE}/eval-scores`)).body.quality_scores.filter(
      ({ source_label }: { source_label: string }) => source_label === 'phoenix',
    )
  const { span_id } = ANNOTATION
  t.match(await scores(), [
    { name: 'correctness', value: 1, source: 'human', span_id },
    { name: 'tone', span_id },
  ])

  t.match((await upload([CALL, ROOT, ofSpan, ANNOTATION])).body, {
    imported_count: 0,
  })
  t.equal((await scores()).length, 2, 'the same file again changes nothing')
})
