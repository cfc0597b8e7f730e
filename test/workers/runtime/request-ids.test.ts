import t from 'tap'
import { workOn } from '../../../jobs/current-work.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { CONTINUE, handler } from '../../../workers/runtime/handler.ts'
import { openQueues } from '../../support/queues.ts'
import { until } from '../../support/until.ts'

t.test('the id of a request', async (t) => {
  const queues = await openQueues(t)
  const { service, sql, org } = queues
  const linesOf = (message: string) =>
    service.logged.map((line) => JSON.parse(line)).filter(({ msg }) => msg === message)

  t.test(
    'is in each line of its job, over retries, continuations and jobs of the job',
    async (t) => {
      const declared = await queues.declare()
      const next = await queues.declare()
      let runs = 0
      await queues.start(
        handler(declared, async (_, run) => {
          run.log.info({}, 'running')
          if (++runs === 1) throw new Error('once')
          if (runs === 2) return CONTINUE
          await run.queue.transaction(sql, async (tx: Transaction) => {
            await run.queue.enqueue(tx, next, { n: 1 }, { orgId: run.orgId })
          })
          return {}
        }),
      )
      await queues.start(handler(next, async (_, run) => run.log.info({}, 'followed')))
      const id = await workOn({ request_id: 'asked' }, () => queues.submit(declared))
      const [followed] = await until(() => linesOf('followed').length > 0 && linesOf('followed'))
      t.match(followed, { request_id: 'asked', org_id: org.orgId, queue: next.name })
      t.notOk('job_id' in followed)
      const line = { request_id: 'asked', org_id: org.orgId, queue: declared.name, job_id: id }
      t.match(linesOf('running'), [line, line, line])
      t.match(linesOf('job failed'), [line], 'what the runtime itself says too')
    },
  )

  t.test('is absent where a job was enqueued without one', async (t) => {
    const declared = await queues.declare()
    await queues.start(handler(declared, async (_, run) => run.log.info({}, 'alone')))
    await queues.enqueue(declared, [1])
    const [alone] = await until(() => linesOf('alone').length > 0 && linesOf('alone'))
    t.match(alone, { org_id: org.orgId, queue: declared.name })
    t.notOk('request_id' in alone)
  })

  t.test('goes with what a request enqueues, that of one of those answered together', async (t) => {
    const { post } = service.client(org.key)
    const send = (id: string) => post('/traces', { agent_name: 'a' }, { 'x-request-id': id })
    const answers = await Promise.all(['r1', 'r2', 'r3'].map(send))
    t.same(
      answers.map(({ status }) => status),
      [201, 201, 201],
    )
    const rows = await sql<{ id: string }[]>`
      select data ->> 'request_id' as id from pgboss.job where name = 'evals.judge'`
    t.ok(rows.length > 0)
    for (const { id } of rows) t.match(id, /^r[123]$/)
  })

  t.test('is one of ours where the client sends an API key as one', async (t) => {
    const { post } = service.client(org.key)
    const { headers } = await post('/traces', { agent_name: 'a' }, { 'x-request-id': org.key })
    t.match(headers['x-request-id'], /^[0-9a-f-]{36}$/)
  })
})
