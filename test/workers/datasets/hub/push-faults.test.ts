import { randomBytes } from 'node:crypto'
import { rename } from 'node:fs/promises'
import t from 'tap'
import { sealSecret } from '../../../../jobs/rules/core/secret-box.ts'
import { redriveDeadLetters } from '../../../../ops/dead-letters.ts'
import type { Interference } from '../../../support/hub.ts'
import { SIGNATURE } from '../../../support/hub.ts'
import { openPushing, TOKEN } from '../../../support/pushed-version.ts'
import { findInTables, literally } from '../../../support/secrets.ts'
import { until } from '../../../support/until.ts'

t.test('a push that the hub', async (t) => {
  const { hub, service, api, request, endOf, faultOf, refuse, startPusher } = await openPushing(t)
  await startPusher()
  /** Lets a job whose next run is later run now. */
  const hurry = () => service.sql`
    update pgboss.job set start_after = now() where name = 'dataset.push' and state < 'active'`

  const ENDS: readonly [string, string, Interference, string, RegExp][] = [
    ['refuses the token', '/repos/create', { status: 401 }, 'hub_refused', /answered 401$/],
    ['lets the token not write', '/preupload/', { status: 403 }, 'hub_refused', /answered 403$/],
    ['has no such revision', '/commits/', { status: 404 }, 'hub_no_revision', /404/],
    [
      'finds too large',
      '/objects/batch',
      { status: 413, error: `Too large ${'x '.repeat(300)}` },
      'hub_rejected',
      /^The hub answered 413: Too large (x ){245}$/,
    ],
    ['does not find', '/preupload/', { status: 404 }, 'hub_rejected', /404/],
    ['rejects', '/commit/', { status: 422, error: 'Bad\0 card' }, 'hub_rejected', /: Bad card$/],
    ['redirects', '/repos/create', { status: 307 }, 'hub_rejected', /307/],
  ]
  for (const [what, part, answer, code, message] of ENDS) {
    t.test(`${what} fails with ${code}`, async (t) => {
      refuse(part, answer, Infinity)
      const job = await endOf(await request({ repo_id: 'acme/ends' }))
      t.match(job, { state: 'failed', attempt: 1, error: { code, message, retryable: false } })
    })
  }

  const PASSES: readonly [string, string, Interference][] = [
    ['answers 500 at first', '/commit/', { status: 500 }],
    ['cuts off at first', '/preupload/', 'reset'],
    ['cuts off while a file is sent', '/storage/', 'reset'],
    ['gives addresses that have expired', '/storage/', { status: 403 }],
  ]
  for (const [i, [what, part, answer]] of PASSES.entries()) {
    t.test(`${what} is tried again`, async (t) => {
      hub.stored.clear()
      refuse(part, answer)
      const id = await request({ repo_id: `acme/passes-${i}` })
      const waiting = await faultOf(id)
      t.match(waiting, { state: 'queued', error: { code: 'hub_unavailable', retryable: true } })
      t.notMatch(waiting.error.message, SIGNATURE)
      await hurry()
      t.match(await endOf(id), { state: 'succeeded', attempt: 2 })
    })
  }

  t.test('puts off waits as long as it says, at no attempt', async (t) => {
    refuse('/commit/', { status: 429, headers: { 'retry-after': '400' } })
    const id = await request({ repo_id: 'acme/busy' })
    await until(() => hub.calls.some(({ path }) => path.includes('acme/busy/commit/')))
    const [row] = await until(async () => {
      const rows = await service.sql<{ seconds: number; retry_count: number }[]>`
        select extract(epoch from start_after - now())::int as seconds, retry_count
        from pgboss.job where name = 'dataset.push' and state = 'created'`
      return rows.length === 1 && rows
    })
    t.ok(row && row.seconds > 380 && row.seconds <= 400, `waits ${row?.seconds} s`)
    t.equal(row?.retry_count, 0)
    await hurry()
    t.match(await endOf(id), { state: 'succeeded', error: null })
  })

  t.test('answers with nonsense is tried again', async (t) => {
    const nonsense = [
      ['/preupload/', {}],
      ['/objects/batch', { objects: [{ oid: 'another' }] }],
      ['/objects/batch', []],
      ['/commits/', [{ id: '../..', title: 1 }]],
      ['/commit/', {}],
    ] as const
    for (const [i, [part, json]] of nonsense.entries()) {
      hub.stored.clear()
      refuse(part, { status: 200, json })
      const id = await request({ repo_id: `acme/nonsense-${i}` })
      const job = await faultOf(id)
      t.match(job.error, { code: 'hub_unavailable', message: /something else/ }, part)
      await api.post(`/jobs/${id}/cancel`)
    }
  })

  t.test('names unusable upload addresses of is tried again', async (t) => {
    const addresses: readonly [string, (size: number) => object, RegExp][] = [
      ['cannot be read', () => ({ href: `https://[${SIGNATURE}` }), /an unreadable address/],
      ['leads elsewhere', () => ({ href: `ftp://hub/${SIGNATURE}` }), /connection_error/],
      ['has parts of no size', () => ({ href: hub.url, header: { chunk_size: '0' } }), /something/],
      ['has no parts', () => ({ href: hub.url, header: { chunk_size: '100' } }), /something else/],
      [
        'has its parts in no order',
        (size) => ({
          href: hub.url,
          header: { chunk_size: String(Math.ceil(size / 2)), '2': hub.url, '00001': hub.url },
        }),
        /something else/,
      ],
    ]
    for (const [i, [what, upload, message]] of addresses.entries()) {
      hub.stored.clear()
      hub.uploadTo = upload
      const id = await request({ repo_id: `acme/addresses-${i}` })
      const job = await faultOf(id)
      t.match(job.error, { code: 'hub_unavailable', message }, what)
      await api.post(`/jobs/${id}/cancel`)
      hub.uploadTo = undefined
    }
  })

  t.test('refuses one file of fails with what it says of that', async (t) => {
    hub.stored.clear()
    hub.refusesFile = { code: 422, message: 'no more room' }
    const { error } = await endOf(await request({ repo_id: 'acme/full' }))
    t.match(error, { code: 'hub_rejected', message: /no more room/ })
    hub.refusesFile = undefined
  })

  t.test('is told to end, ends', async (t) => {
    let stalled = false
    hub.interfere = ({ isStorage }) => {
      if (!isStorage) return undefined
      stalled = true
      return new Promise(() => {})
    }
    // Its files are new to the hub.
    hub.stored.clear()
    const id = await request({ repo_id: 'acme/canceled' })
    await until(() => stalled)
    t.equal((await api.post(`/jobs/${id}/cancel`)).status, 202)
    t.match(await endOf(id), { state: 'canceled' })
    hub.interfere = () => undefined
  })

  t.test('has as a public repository does not get what is meant to be private', async (t) => {
    hub.repos.make('acme/public', false)
    const job = await endOf(await request({ repo_id: 'acme/public' }))
    t.match(job.error, { code: 'hub_public', retryable: false })
    t.equal(hub.repos.all.get('acme/public')?.commits.get('main')?.length, 1)
  })

  t.test('lets write in a repository and make none', async (t) => {
    hub.repos.make('acme/theirs', true)
    refuse('/repos/create', { status: 403 }, Infinity)
    t.match(await endOf(await request({ repo_id: 'acme/theirs' })), { state: 'succeeded' })
    t.match((await endOf(await request({ repo_id: 'acme/none' }))).error, { code: 'hub_refused' })
    hub.interfere = () => undefined
  })
})

t.test('a push whose storage is away waits for it, and loses no attempt', async (t) => {
  const { hub, service, request, endOf, startPusher } = await openPushing(t)
  const { sql } = service
  const { storageFolder: folder } = service
  await startPusher()
  for (const [i, part] of ['/preupload/', '/objects/batch'].entries()) {
    hub.stored.clear()
    let isAway = false
    hub.interfere = async ({ path }) => {
      if (!path.includes(part) || isAway) return undefined
      isAway = true
      await rename(folder, `${folder}.away`)
      return undefined
    }
    const id = await request({ repo_id: `acme/away-${i}` })
    await until(async () => {
      const released = await sql`
        select from job_attempts where job_id = ${id} and outcome = 'released'`
      return released.length > 0
    })
    await rename(`${folder}.away`, folder)
    const counts = new Set<number>()
    await until(async () => {
      const waiting = await sql<{ retry_count: number }[]>`
        update pgboss.job set start_after = now()
        where name = 'dataset.push' and state < 'active' returning retry_count`
      for (const { retry_count: n } of waiting) counts.add(n)
      const [job] = await sql`select from jobs where id = ${id} and finished_at is not null`
      return job
    })
    t.match(await endOf(id), { state: 'succeeded' }, part)
    t.same([...counts], [0])
  }
})

t.test('a storage apart from the hub', async (t) => {
  t.test('is reached where addresses of clients may lead, without the token', async (t) => {
    const env = { OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8' }
    const { hub, request, endOf, startPusher } = await openPushing(t, { storageApart: true, env })
    await startPusher()
    t.match(await endOf(await request()), { state: 'succeeded' })
    t.same(hub.faults, [])
    t.ok(hub.calls.some(({ isStorage }) => isStorage))
  })

  t.test('is not reached at a private address', async (t) => {
    const { hub, request, faultOf, startPusher } = await openPushing(t, { storageApart: true })
    await startPusher()
    const id = await request()
    const { error } = await faultOf(id)
    t.match(error, { code: 'hub_unavailable', message: 'PUT to 127.0.0.1: blocked_address' })
    t.notOk(hub.calls.some(({ isStorage }) => isStorage))
  })
})

t.test('a push whose token has ended is not made with that of the installation', async (t) => {
  const { hub, service, request, endOf, startPusher } = await openPushing(t, {
    env: { HUB_TOKEN: TOKEN },
  })
  const { sql, boss, context } = service
  hub.interfere = () => ({ status: 500 })
  const id = await request()
  await sql`update pgboss.job set retry_limit = 0 where name = 'dataset.push'`
  await startPusher()
  t.match(await endOf(id), { state: 'failed', error: { code: 'hub_unavailable' } })
  hub.interfere = () => undefined
  const letters = { limit: 100, dryRun: false }
  const redriven = await redriveDeadLetters({ ...context, boss, sql }, 'dataset.push', letters)
  t.match(redriven, { redriven: 1 })
  t.match(await endOf(id), { state: 'failed', error: { code: 'secret_gone', retryable: false } })
  t.equal(hub.repos.all.size, 0)
})

t.test('the token of a push', async (t) => {
  const { hub, service, api, request, endOf, refuse, startPusher } = await openPushing(t)
  const { sql } = service
  const readSecret = async (jobId: string) => {
    const [row] = await sql<{ sealed: Buffer }[]>`
      select sealed from job_secrets where job_id = ${jobId}`
    return row?.sealed
  }
  const first = await request()

  t.test('is stored sealed', async (t) => {
    const sealed = await readSecret(first)
    t.ok(sealed && sealed.length > TOKEN.length)
    t.notOk(sealed?.includes(TOKEN))
  })

  t.test('ends with the job, whichever way that ends', async (t) => {
    await api.post(`/jobs/${first}/cancel`)
    t.equal(await readSecret(first), undefined, 'canceled before it began')
    await startPusher()
    const done = await request()
    t.match(await endOf(done), { state: 'succeeded' })
    t.equal(await readSecret(done), undefined)
    refuse('/repos/create', { status: 403, error: `You are ${TOKEN}` }, Infinity)
    const failed = await request({ repo_id: 'acme/other' })
    const { error } = await endOf(failed)
    t.equal(error.message, 'The hub answered 403: You are [token]')
    t.equal(await readSecret(failed), undefined)
    const retried = await api.post(`/jobs/${failed}/retry`, { force: true })
    t.match(retried, { status: 409, body: { code: 'secret_gone' } })
    hub.interfere = () => undefined
  })

  t.test('that was sealed with another master key fails the job', async (t) => {
    hub.interfere = async () => {
      const box = sealSecret(randomBytes(32), randomBytes(12), TOKEN)
      await sql`update job_secrets set sealed = ${box}`
      return { status: 429, headers: { 'retry-after': '1' } }
    }
    const { error } = await endOf(await request({ repo_id: 'acme/rotated' }))
    t.match(error, { code: 'secret_unreadable', retryable: false })
  })

  t.test('is in no table, and in no line of the log', async (t) => {
    const forms = [TOKEN, Buffer.from(TOKEN).toString('hex'), SIGNATURE]
    t.same(await findInTables(sql, forms.map(literally)), [])
    const log = service.logged.join('')
    t.match(log, 'secret_unreadable', 'the log is looked at')
    t.notMatch(log, TOKEN)
    t.notMatch(log, SIGNATURE)
  })
})
