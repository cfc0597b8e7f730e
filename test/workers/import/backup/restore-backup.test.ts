import { gzipSync } from 'node:zlib'
import t from 'tap'
import { backupOf, scoreLine, traceLine, verdictLine } from '../../../support/backup-lines.ts'
import type { TestLine } from '../../../support/backup-lines.ts'
import { openImports } from '../../../support/imports.ts'
import { makeTestKey, openService } from '../../../support/service.ts'
import { until } from '../../../support/until.ts'
import { restoreHandler } from '../../../../workers/import/backup/restore-backup.ts'

t.test('restoring traces', async (t) => {
  const service = await openService(t, {
    env: { QUOTA_TRACES_INGESTED: '50,100000,100000,100000' },
  })
  const { sql } = service
  const { submit } = openImports(t, service)
  const { stop } = await service.startWorkers([restoreHandler()])

  const restore = async (file: string | Buffer, query = '', org?: Parameters<typeof submit>[2]) => {
    const submitted = await submit(file, query, org)
    const ended = await submitted.ended()
    const { body } = await submitted.get(`/import/${submitted.importId}/errors`)
    return { ...submitted, shown: ended, errors: body.errors as { line: number; code: string }[] }
  }
  const rows = (orgId: string) => sql`
    select t.trace_id, t.created_at, t.is_imported, s.score_id, s.updated_at, v.decided_at, v.agent_name
    from traces t
    left join eval_scores s on s.org_id = t.org_id and s.trace_id = t.trace_id
    left join verdicts v on v.org_id = t.org_id and v.trace_id = t.trace_id
    where t.org_id = ${orgId} order by t.trace_id`
  const lines = [traceLine('a'), scoreLine('a'), verdictLine('a'), traceLine('b')]

  await t.test('keeps times and ids, and judges none that has a decision', async (t) => {
    const { shown, orgId, errors } = await restore(backupOf(lines))
    t.match(shown, { status: 'succeeded', source: 'backup', imported_count: 2, scores_imported: 1 })
    t.same(errors, [])
    const [a, b] = await rows(orgId)
    t.match(a, {
      created_at: new Date('2026-03-01T10:00:05Z'),
      is_imported: false,
      score_id: lines[1]?.['score_id'],
      updated_at: new Date('2026-03-03T10:00:00Z'),
      decided_at: new Date('2026-03-04T10:00:00Z'),
      agent_name: 'shop',
    })
    t.match(b, { decided_at: null })
    const asked = await sql`
      select name, data->'payload'->'trace_ids' as ids from pgboss.job
      where data->>'org_id' = ${orgId} and name in ('evals.judge', 'violations.detect') order by name`
    t.same(
      asked.map(({ name, ids }) => [name, ids]),
      [
        ['evals.judge', ['b']],
        ['violations.detect', ['a', 'b']],
      ],
    )
  })

  await t.test(
    'judges those that have a score or an annotation since their decision',
    async (t) => {
      const later = '2026-03-05T10:00:00.000Z'
      const { orgId } = await restore(
        backupOf([
          traceLine('a'),
          { ...scoreLine('a'), updated_at: later },
          verdictLine('a'),
          traceLine('b'),
          scoreLine('b'),
          verdictLine('b'),
        ]),
      )
      const [asked] = await sql`
      select data->'payload'->'trace_ids' as ids from pgboss.job
      where data->>'org_id' = ${orgId} and name = 'evals.judge'`
      t.same(asked?.['ids'], ['a'])
    },
  )

  await t.test('is for a known format, and for projects of its own', async (t) => {
    const later = await restore(backupOf(lines).replace('"format":1', '"format":2'))
    t.match(later.shown, { status: 'failed', error: { code: 'not_a_backup' }, imported_count: 0 })
    const { client } = service
    const { key } = await service.makeOrganization()
    const type = { 'content-type': 'application/x-ndjson' }
    t.match(await client(key).call('POST', '/import/jsonl?project=p', backupOf(lines), type), {
      status: 400,
      body: { detail: /leave out `project`/ },
    })
    t.match(await client(key).get('/projects'), { body: { total: 1 } })
  })

  await t.test('tells what it has stored by kind', async (t) => {
    const { get, shown } = await restore(backupOf(lines))
    const { body } = await get(`/jobs/${shown.job_id}`)
    t.same(body.result.restored, { trace: 2, score: 1, verdict: 1 })
  })

  await t.test('is recognised in gzip, and skips what is there', async (t) => {
    const first = await restore(gzipSync(backupOf(lines)))
    const again = await restore(backupOf(lines), '?source=backup', first)
    t.match(again.shown, {
      status: 'succeeded',
      imported_count: 0,
      skipped_count: 2,
      scores_imported: 0,
    })
    t.equal((await rows(first.orgId)).length, 2)
  })

  await t.test('counts nothing twice, whatever is cut off', async (t) => {
    const whole = backupOf(lines)
    const org = await service.makeOrganization()
    for (const cut of [60, whole.length >> 1, whole.length - 30]) {
      const { shown } = await restore(whole.slice(0, cut), '?source=backup', org)
      t.match(shown, { status: 'failed', error: { code: 'incomplete_backup' } })
    }
    t.match((await restore(whole, '', org)).shown, { status: 'succeeded' })
    t.equal((await rows(org.orgId)).length, 2)
  })

  await t.test('says of each line what is wrong with it', async (t) => {
    const faulty: TestLine[] = [
      { kind: 'workspace' },
      { kind: 'project', name: 'p', workspace: 'none' },
      { kind: 'planet', name: 'p' },
      traceLine('x', { project: 'none' }),
      scoreLine('x'),
      traceLine('y', { started_at: 'yesterday' }),
      scoreLine('y'),
      traceLine('z', { llm_calls: [{ output: 7 }] }),
      traceLine('ok', { session_id: 'ok' }),
      scoreLine('ok', { source_kind: 'planet' }),
      traceLine('left'),
      scoreLine('left', { score_id: 'id' }),
      { kind: 'end', counts: 1 },
      {
        kind: 'repair_failure',
        batch_id: '00000000-0000-7000-8000-000000000000',
        trace_id: 'ok',
        code: 'c',
      },
    ]
    const { shown, errors, orgId } = await restore(`${backupOf(faulty)}{"kind":"trace"}\n`)
    t.match(shown, { status: 'failed', error: { code: 'incomplete_backup' }, imported_count: 1 })
    t.same(
      errors.map(({ line, code }) => [line, code]),
      [
        [2, 'invalid_line'],
        [3, 'unknown_reference'],
        [4, 'unknown_kind'],
        [5, 'unknown_reference'],
        [6, 'stray_line'],
        [7, 'invalid_line'],
        [9, 'invalid_line'],
        [11, 'refused'],
        [12, 'left_out'],
        [13, 'invalid_line'],
        [14, 'invalid_line'],
        [15, 'unknown_reference'],
        [17, 'after_end'],
      ],
    )
    t.same(
      (await rows(orgId)).map(({ trace_id }) => trace_id),
      ['ok'],
    )
  })

  await t.test('takes traces and scores alone from a key of less right', async (t) => {
    const org = await service.makeOrganization()
    const { raw: key } = await makeTestKey(sql, org.orgId, {
      scope: 'global',
      permissions: 'write',
    })
    const { shown, errors } = await restore(
      backupOf([{ kind: 'workspace', name: 'w' }, ...lines]),
      '',
      {
        ...org,
        key,
      },
    )
    t.match(shown, { imported_count: 2, scores_imported: 1 })
    t.same(
      errors.map(({ line, code }) => [line, code]),
      [
        [2, 'forbidden_kind'],
        [5, 'forbidden_kind'],
      ],
    )
  })

  await t.test('stops at the trace that the quota does not hold, and goes on later', async (t) => {
    const org = await service.makeOrganization()
    await sql`update organizations set plan = 'free' where id = ${org.orgId}`
    const many = Array.from({ length: 60 }, (_, i) => [traceLine(`t${i}`), scoreLine(`t${i}`)])
    const capped = await restore(backupOf(many.flat()), '', org)
    t.match(capped.shown, {
      status: 'capped',
      imported_count: 50,
      scores_imported: 50,
      capped_at_line: 102,
    })
    await sql`update organizations set plan = 'enterprise' where id = ${org.orgId}`
    const whole = await restore(backupOf(many.flat()), '', org)
    t.match(whole.shown, { status: 'succeeded', imported_count: 10, skipped_count: 50 })
    const stored = await rows(org.orgId)
    t.equal(stored.length, 60)
    t.ok(stored.every((row) => row['score_id'] !== null))
  })

  await t.test('refuses a file that is none', async (t) => {
    const { shown } = await restore(`${JSON.stringify(traceLine('a'))}\n`, '?source=backup')
    t.match(shown, { status: 'failed', error: { code: 'not_a_backup' } })
  })

  await t.test('counts in a dry run and stores nothing', async (t) => {
    const { shown, orgId } = await restore(backupOf(lines), '?dry_run=true')
    t.match(shown, { status: 'succeeded', imported_count: 2 })
    t.same(await rows(orgId), [])
  })

  await t.test('ends when the key that asked for it was revoked', async (t) => {
    await stop()
    const org = await service.makeOrganization()
    const other = await makeTestKey(sql, org.orgId, { scope: 'global', permissions: 'admin' })
    const submitted = await submit(backupOf(lines), '', org)
    t.equal((await submitted.delete(`/api-keys/${org.keyId}`)).status, 200)
    await service.startWorkers([restoreHandler()])
    const job = await until(async () => {
      const { body } = await service.client(other.raw).get(`/jobs/${submitted.jobId}`)
      return body.state === 'failed' && body
    })
    t.match(job, { error: { code: 'key_gone' } })
    t.same(await rows(org.orgId), [])
  })
})
