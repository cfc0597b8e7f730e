import t from 'tap'
import Joi from 'joi'
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { text } from 'node:stream/consumers'
import { Answer, endpoint } from '../../api/endpoint.ts'
import { badRequest } from '../../api/errors.ts'
import { operations } from '../../api/routes.ts'
import { admitJob } from '../../api/admit-job.ts'
import { buildDataset } from '../../jobs/build-dataset.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { gate } from '../support/queues.ts'
import { makeTestKey, openService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('Idempotency-Key', async (t) => {
  let blocked = Promise.resolve()
  let begun = 0
  let refuse = false
  let isLost = false
  /** Does something that can be counted, when it is let through. */
  const effect = endpoint('POST', '/test/effects', {
    summary: 'Make an effect',
    access: 'key',
    body: Joi.object().unknown(true),
    answers: {},
    async handle({ context, principal }) {
      begun++
      await blocked
      if (refuse) throw badRequest('not now')
      const job_id = await context.queue.transaction(context.sql, (tx: Transaction) =>
        admitJob(
          context,
          tx,
          principal,
          buildDataset,
          { version_id: randomUUIDv7() },
          { projectId: principal.projectId },
        ),
      )
      if (isLost) throw new Error('the connection was lost')
      return new Answer(201, { job_id }, { Location: `/api/v1/jobs/${job_id}` })
    },
  })
  const upload = endpoint('POST', '/test/uploads', {
    summary: 'Read a stream',
    access: 'key',
    body: { stream: true, maxBytes: 1000, types: ['text/plain'] },
    answers: {},
    handle: async ({ body }) => ({ read: await text(body), nonce: randomUUID() }),
  })
  const service = await openService(t, { operations: [...operations, effect, upload] })
  const { sql } = service
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const make = (key: string, body: object = { a: 1 }) =>
    client.post('/test/effects', body, { 'idempotency-key': key })

  async function countJobs() {
    const [row] = await sql<{ n: number }[]>`
      select count(*)::int as n from jobs where org_id = ${org.orgId}`
    return row?.n ?? 0
  }

  t.test('replays the answer of the same request', async (t) => {
    const first = await make('once')
    const again = await make('once')
    t.equal(first.status, 201)
    t.notOk('idempotent-replayed' in first.headers)
    t.match(again, {
      status: 201,
      headers: { 'idempotent-replayed': 'true', location: first.headers['location'] ?? '' },
      body: first.body,
    })
    t.equal(await countJobs(), 1)
  })

  t.test('refuses another body or another operation under the same key', async (t) => {
    const first = await make('taken')
    const refused = { status: 409, body: { code: 'idempotency_key_reused' } }
    t.match(await make('taken', { a: 2 }), refused)
    t.match(
      await client.post('/workspaces', { a: 1 }, { 'idempotency-key': 'taken' }),
      { status: 422 },
      'what is not valid is refused before',
    )
    const path = `/jobs/${first.body.job_id}/cancel`
    t.match(await client.post(path, { a: 1 }, { 'idempotency-key': 'taken' }), refused)
  })

  t.test('sent 50 times at once has one effect and 50 equal answers', async (t) => {
    const before = await countJobs()
    // On a busy machine the first one may take longer than the others wait.
    const persist = () =>
      until(async () => {
        const answer = await make('crowd')
        return answer.body.code !== 'idempotency_key_in_use' && answer
      })
    const answers = await Promise.all(Array.from({ length: 50 }, persist))
    t.same(new Set(answers.map(({ status }) => status)), new Set([201]))
    t.equal(new Set(answers.map(({ body }) => body.job_id)).size, 1)
    t.equal((await countJobs()) - before, 1)
  })

  t.test('is answered with 409 while the first request is still being done', async (t) => {
    const { opened, open } = gate()
    blocked = opened
    const from = begun
    const first = make('slow')
    await until(() => begun > from)
    t.match(await make('slow'), {
      status: 409,
      headers: { 'retry-after': '1' },
      body: { code: 'idempotency_key_in_use' },
    })
    t.match(await make('slow', { a: 3 }), { status: 409, body: { code: 'idempotency_key_reused' } })
    open()
    t.equal((await first).status, 201)
    t.equal((await make('slow')).headers['idempotent-replayed'], 'true')
  })

  t.test('keeps no error: the request may be sent again', async (t) => {
    refuse = true
    t.equal((await make('refused')).status, 400)
    refuse = false
    const second = await make('refused')
    t.equal(second.status, 201)
    t.notOk('idempotent-replayed' in second.headers)
  })

  t.test('finds the job of a request whose commit was not heard of', async (t) => {
    isLost = true
    t.equal((await make('lost')).status, 500)
    isLost = false
    const before = await countJobs()
    t.match(await make('lost'), { status: 202, body: { job_id: String } })
    t.equal(await countJobs(), before)
  })

  t.test('of a request whose process died is free when its claim has run out', async (t) => {
    const claim = (untilSeconds: number) => sql`
      insert into idempotency_keys (org_id, api_key_id, key, claim, claimed_until, request_id)
      values (${org.orgId}, ${org.keyId}, ${`died ${untilSeconds}`}, gen_random_uuid(),
        now() + ${untilSeconds} * interval '1 second', gen_random_uuid())`
    await claim(-1)
    await claim(20)
    t.equal((await make('died -1')).status, 201)
    t.equal((await make('died 20')).status, 409)
  })

  t.test('of a request whose process died after it had submitted its job finds that', async (t) => {
    const first = await make('submitted')
    await sql`
      update idempotency_keys set status = null, headers = null, body = null,
        claimed_until = now() - interval '1 second'
      where key = 'submitted'`
    const before = await countJobs()
    t.equal((await make('submitted', { a: 'another body' })).status, 409)
    const answer = { status: 202, body: { job_id: first.body.job_id } }
    t.match(await make('submitted'), answer)
    t.match(await make('submitted'), { ...answer, headers: { 'idempotent-replayed': 'true' } })
    t.equal(await countJobs(), before)
  })

  t.test('holds for 24 hours', async (t) => {
    const first = await make('old')
    await sql`
      update idempotency_keys set created_at = now() - interval '24 hours 1 second'
      where key = 'old'`
    const later = await make('old', { a: 'another body' })
    t.equal(later.status, 201)
    t.not(later.body.job_id, first.body.job_id)
  })

  t.test('of one API key does not meet that of another', async (t) => {
    const other = await makeTestKey(sql, org.orgId, { scope: 'global', permissions: 'admin' })
    const first = await make('mine')
    const theirs = await service
      .client(other.raw)
      .post('/test/effects', { b: 1 }, { 'idempotency-key': 'mine' })
    t.equal(theirs.status, 201)
    t.not(theirs.body.job_id, first.body.job_id)
  })

  t.test('gives a secret again, and the database does not hold it', async (t) => {
    const create = () =>
      client.post('/api-keys', { label: 'ci', scope: 'global' }, { 'idempotency-key': 'secret' })
    const first = await create()
    const again = await create()
    t.match(first.body.raw_key, /^svc_sk_/)
    t.equal(again.body.raw_key, first.body.raw_key)
    const [row] = await sql<{ body: Buffer }[]>`
      select body from idempotency_keys where key = 'secret'`
    t.notOk(row?.body.includes('svc_sk_'))
  })

  t.test('covers a streamed body', async (t) => {
    const send = (body: string) =>
      client.call('POST', '/test/uploads', body, {
        'idempotency-key': 'stream',
        'content-type': 'text/plain',
      })
    const first = await send('hello')
    t.match(first, { status: 200, body: { read: 'hello' } })
    const again = await send('hello')
    t.match(again, { status: 200, body: first.body, headers: { 'idempotent-replayed': 'true' } })
    t.equal((await send('hullo')).status, 409)
  })

  t.test('has 1 to 255 printable characters', async (t) => {
    const fault = {
      status: 422,
      body: { details: { errors: [{ field: 'header.idempotency-key' }] } },
    }
    t.match(await make('x'.repeat(256)), fault)
    t.match(await make('\u00e9'), fault)
    t.equal((await make('x'.repeat(255))).status, 201)
  })
})
