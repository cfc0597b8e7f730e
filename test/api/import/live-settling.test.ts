import t from 'tap'
import { requestSettling } from '../../../jobs/settle-traces.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { reconcileJobsHandler } from '../../../workers/maintenance/reconcile-jobs.ts'
import { reconcileJobs } from '../../../jobs/reconcile-jobs.ts'
import { settleTracesHandler } from '../../../workers/evals/settle-traces.ts'
import { makeAgent, openAgentService } from '../../support/agents.ts'
import { exportRequest, spanId, traceId } from '../../support/otlp.ts'
import type { GivenSpan } from '../../support/otlp.ts'
import { otlpClient } from '../../support/otlp-client.ts'
import { until } from '../../support/until.ts'

const service = await openAgentService(t, { env: { OTLP_IDLE_SECONDS: '600' } })
const { sql } = service
const { queue } = service.context
const TRACE = traceId(1)
const CALL = {
  'gen_ai.operation.name': 'chat',
  'gen_ai.input.messages': '[{"role":"user","parts":[{"type":"text","content":"hello"}]}]',
  'gen_ai.output.messages': '[{"role":"assistant","parts":[{"type":"text","content":"hi"}]}]',
}
const ROOT: GivenSpan = { trace: TRACE, id: spanId(1), to: 5, attributes: CALL }
const CHILD: GivenSpan = { trace: TRACE, id: spanId(2), parent: spanId(1) }

t.test('a trace whose outermost span came', async (t) => {
  const { org, client, send, settled } = await makeSender()
  await send([CHILD])
  await send([ROOT])
  t.equal((await client.get(`/traces/${TRACE}`)).body.verdict, null, 'it is not judged yet')
  t.equal(await countJudgements(org.orgId), 0, 'and nothing asks for it')
  const [stored] = await sql<{ seconds: number }[]>`
    select extract(epoch from settles_at - now())::float8 as seconds from traces where org_id = ${org.orgId}`
  t.ok(stored && stored.seconds <= 2, 'it settles within two seconds')
  await whileSettling(settled)
  t.ok((await client.get(`/traces/${TRACE}`)).body.verdict, 'it is judged')
  t.equal(await countJudgements(org.orgId), 1, 'once, by itself')
  t.match(await columns(org.orgId), { status: 'success', settles_at: null, revision: 1 })

  t.test('is changed by a span of a later day, and judged once more', async (t) => {
    t.match(await send([{ ...CHILD, id: spanId(3), from: 86_400 }]), { status: 200 })
    t.match(await columns(org.orgId), { revision: 2, settles_at: Date, status: 'success' })
    t.ok((await client.get(`/traces/${TRACE}`)).body.verdict, 'its decision stays until then')
    t.equal(await countJudgements(org.orgId), 1)
    await whileSettling(settled)
    t.equal(await countJudgements(org.orgId), 2)
    t.match(await columns(org.orgId), { revision: 2, settles_at: null })
  })
})

t.test('a trace whose outermost span does not come', async (t) => {
  const { org, client, send, settled } = await makeSender()
  await send([CHILD])
  const [stored] = await sql<{ seconds: number }[]>`
    select extract(epoch from settles_at - now())::float8 as seconds from traces where org_id = ${org.orgId}`
  t.ok(stored && stored.seconds > 590 && stored.seconds <= 600, 'it waits as long as is set')
  await sql`update traces set settles_at = now() where org_id = ${org.orgId}`
  await sweep()
  await whileSettling(async () => {
    await until(async () => (await client.get(`/traces/${TRACE}`)).body.status === 'partial')
    await settled()
  })
  t.match(await columns(org.orgId), { status: 'partial', revision: 0, made_of_spans: true })
  t.ok((await client.get(`/traces/${TRACE}`)).body.verdict, 'it is judged')

  t.test('runs again when a further span comes, without a decision', async (t) => {
    await send([{ ...CHILD, id: spanId(3) }])
    const { body } = await client.get(`/traces/${TRACE}`)
    t.match(body, { status: 'running', verdict: null, revision: 1 })
    await send([ROOT])
    t.match((await client.get(`/traces/${TRACE}`)).body, { status: 'success', revision: 2 })
    await whileSettling(settled)
    t.ok((await client.get(`/traces/${TRACE}`)).body.verdict)
  })
})

t.test('a trace to which a span is added is left to the transaction that does', async (t) => {
  const { org, client, send, settled } = await makeSender()
  await send([ROOT, { ...ROOT, trace: traceId(2) }])
  await sql`update traces set settles_at = now() - interval '1 s' where org_id = ${org.orgId}`
  await sql.begin(async (tx) => {
    await tx`select from traces where org_id = ${org.orgId} and trace_id = ${TRACE} for no key update`
    await whileSettling(() =>
      until(async () => (await client.get(`/traces/${traceId(2)}`)).body.verdict),
    )
    t.match(await columns(org.orgId), { settles_at: Date })
  })
  await whileSettling(settled)
  t.match(await columns(org.orgId), { settles_at: null })
})

t.test('the job goes on while traces settle soon, and ends when none does', async (t) => {
  const { org, send } = await makeSender()
  await send([ROOT, { ...CHILD, trace: traceId(2) }])
  await request(org)
  const settling = () => sql`
    select from pgboss.job where name = 'traces.settle' and state in ('created', 'retry', 'active')
      and data->>'org_id' = ${org.orgId}`
  await whileSettling(() => until(async () => (await settling()).length === 0))
  t.match(await columns(org.orgId), { settles_at: null }, 'the first has settled')
  const [left] =
    await sql`select from traces where org_id = ${org.orgId} and settles_at is not null`
  t.ok(left, 'the other waits for the sweep')
})

async function makeSender() {
  const agent = await makeAgent(service)
  const { send } = otlpClient(service, agent.org.key)
  return { ...agent, send: (spans: readonly GivenSpan[]) => send(exportRequest(spans)) }
}

/** Traces settle during this, and at no other time. */
async function whileSettling(work: () => Promise<unknown>) {
  const workers = await service.startWorkers([settleTracesHandler, reconcileJobsHandler])
  await work()
  await workers.stop()
}

/** Has due traces of a project settled without a wait. */
async function request({ orgId, projectId }: { orgId: string; projectId: string }) {
  await queue.transaction(sql, (tx: Transaction) => requestSettling(queue, tx, orgId, projectId, 0))
}

/** What maintenance does each minute. */
async function sweep() {
  await queue.transaction(sql, (tx: Transaction) =>
    queue.enqueue(tx, reconcileJobs, {}, { orgId: null }),
  )
}

async function columns(orgId: string) {
  const [found] = await sql`
    select status, settles_at, revision, made_of_spans from traces
    where org_id = ${orgId} and trace_id = ${TRACE}`
  return found
}

async function countJudgements(orgId: string) {
  const [counted] = await sql<{ n: number }[]>`
    select count(*)::int as n from pgboss.job where name = 'evals.judge' and data->>'org_id' = ${orgId}`
  return counted?.n
}
