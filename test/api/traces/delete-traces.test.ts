import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { aggregateScoresHandler } from '../../../workers/evals/aggregate-scores.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { restoreBackupHandler } from '../../../workers/import/backup/restore-backup.ts'
import { makeDeleteHandler } from '../../../workers/maintenance/delete-traces.ts'
import { openBackups } from '../../support/backup/backups.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { setJobState } from '../../support/job-state.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

t.test('DELETE /traces', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const work = { sliceMs: 0, rowsTogether: 2 }
  const handlers = [makeDeleteHandler(work), judgeTracesHandler, aggregateScoresHandler]

  /** An organization with traces. */
  async function open(...traces: JudgedTrace[]) {
    const org = await service.makeOrganization()
    await storeJudged(sql, org, traces)
    const client = service.client(org.key)
    return {
      ...org,
      client,
      remove: (query: string, headers?: Record<string, string>) =>
        client.call('DELETE', `/traces?${query}`, undefined, headers),
      async ids() {
        const { body } = await client.get('/traces')
        return body.traces.map(({ id }: { id: string }) => id).sort()
      },
    }
  }
  const later = { prefer: 'respond-async' }
  let stop = (await service.startWorkers(handlers)).stop
  /** Runs `work` while nothing is worked on. */
  async function paused(work: () => Promise<void>) {
    await stop()
    await work()
    stop = (await service.startWorkers(handlers)).stop
  }

  await t.test('deletes what fulfils all of a filter, a project at a time', async (t) => {
    const org = await open(
      ...['a1', 'a2', 'a3', 'a4', 'a5'].map((id) => ({
        trace_id: id,
        agent_name: 'a',
        tags: ['x', 'y'],
      })),
      { trace_id: 'other', agent_name: 'b', tags: ['x', 'y'] },
      { trace_id: 'one tag', agent_name: 'a', tags: ['x'] },
    )
    const body = { name: 'second', workspace_id: org.workspaceId }
    const second = { ...org, projectId: (await org.client.post('/projects', body)).body.id }
    await storeJudged(sql, second, [{ trace_id: 'in second', agent_name: 'a', tags: ['y', 'x'] }])
    const answer = await org.remove('agent_name=a&tag=x&tag=y')
    t.match(answer, {
      status: 200,
      body: { status: 'succeeded', matched_count: 6, deleted_count: 6 },
    })
    t.same(await org.ids(), ['one tag', 'other'])
    const [found] = await sql`
      select from trace_ids where org_id = ${org.orgId} and trace_id like 'a%'`
    t.equal(found, undefined, 'their ids are free')
    const { body: job } = await org.client.get(`/jobs/${answer.body.job_id}`)
    t.match(job, { kind: 'traces.delete', progress: { done: 6, total: 6, unit: 'traces' } })
  })

  await t.test('is told to the organization with filter and count', async (t) => {
    const org = await open({ trace_id: '1', session_id: 's' }, { trace_id: '2', session_id: 's' })
    const { body: dry } = await org.remove('session_id=s&dry_run=true')
    t.match(dry, { status: 'succeeded', matched_count: 2, deleted_count: 0 })
    t.same(await org.ids(), ['1', '2'], 'a dry run deletes nothing')
    const { body } = await org.remove('session_id=s')
    const events = await sql`
      select action, actor_key_id, resource_id, data from audit_events
      where org_id = ${org.orgId} and action like 'traces.%'`
    t.same(
      [...events],
      [
        {
          action: 'traces.deleted',
          actor_key_id: org.keyId,
          resource_id: body.job_id,
          data: { filter: { session_id: 's' }, count: 2 },
        },
      ],
    )
    const { body: log } = await org.client.get('/changelog?types=audit')
    t.match(log.events[0], { title: '2 traces deleted', resource: { id: body.job_id } })
  })

  await t.test('needs a filter, and refuses what it does not know', async (t) => {
    const org = await open({ trace_id: 'stays' })
    for (const query of ['', 'project=default', 'dry_run=true']) {
      t.match(await org.remove(query), { status: 400 }, query)
    }
    t.match(await org.remove('agent_name=agent&agnet=x'), {
      status: 422,
      body: { details: { errors: [{ field: 'query.agnet' }] } },
    })
    t.match(await org.remove('agent_name=agent&q=words'), { status: 422 })
    t.match(await org.remove('agent_name=agent&project=none'), { status: 404 })
    t.match(await org.remove('manifest_id=none'), { status: 200, body: { matched_count: 0 } })
    t.same(await org.ids(), ['stays'])
  })

  await t.test('of a key of a project reaches that project alone', async (t) => {
    const org = await open({ trace_id: 'first' })
    const { body: project } = await org.client.post('/projects', {
      name: 'second',
      workspace_id: org.workspaceId,
    })
    await storeJudged(sql, { ...org, projectId: project.id }, [{ trace_id: 'second' }])
    const of = (permissions: 'write' | 'admin') =>
      makeTestKey(sql, org.orgId, { scope: 'project', permissions, project_id: project.id })
    const client = service.client((await of('admin')).raw)
    const writer = service.client((await of('write')).raw)
    t.match(await writer.call('DELETE', '/traces?agent_name=agent'), { status: 403 })
    t.match(await client.call('DELETE', '/traces?agent_name=agent&project=default'), {
      status: 403,
    })
    t.match(await client.call('DELETE', '/traces?agent_name=agent'), { body: { deleted_count: 1 } })
    t.same(await org.ids(), ['first'])
  })

  await t.test('leaves alone what comes after the request', async (t) => {
    const org = await open({ trace_id: 'before' })
    await paused(async () => {
      t.match(await org.remove('agent_name=agent', later), {
        status: 202,
        body: { status: 'queued' },
      })
      await storeJudged(sql, org, [{ trace_id: 'after' }])
    })
    await until(async () => (await org.ids()).join() === 'after')
    t.pass()
  })

  await t.test('leaves alone what is restored after the request', async (t) => {
    const org = await open({ trace_id: 'lost' }, { trace_id: 'there' })
    const { take, submit } = openBackups(service)
    const file = await take(org)
    await org.client.delete('/traces/lost')
    await paused(async () => {
      await org.remove('agent_name=agent', later)
      const importId = await submit(org, file)
      const restoring = await service.startWorkers([restoreBackupHandler])
      await until(async () => (await org.client.get(`/import/${importId}`)).body.finished_at)
      await restoring.stop()
      t.same(await org.ids(), ['lost', 'there'])
    })
    await until(async () => (await org.ids()).join() === 'lost')
    t.pass()
  })

  await t.test('goes by the decision that it had to wait for', async (t) => {
    const org = await open({ trace_id: 'saved' }, { trace_id: 'gone' })
    await sql`update verdicts set verdict = 'drop' where org_id = ${org.orgId}`
    const judge = await sql.reserve()
    await judge`begin`
    await judge`
      select from traces where org_id = ${org.orgId} and trace_id = 'saved' for no key update`
    await judge`
      update verdicts set verdict = 'keep' where org_id = ${org.orgId} and trace_id = 'saved'`
    const removing = org.remove('verdict=drop')
    await until(() => countLockWaits(sql, { type: 'transactionid' }))
    await judge`commit`
    judge.release()
    t.match(await removing, { body: { matched_count: 2, deleted_count: 1 } })
    t.same(await org.ids(), ['saved'])
  })

  await t.test('lets others have their turn between projects, too', async (t) => {
    const org = await open({ trace_id: 'in default' })
    for (const name of ['second', 'third', 'fourth']) {
      await org.client.post('/traces', { agent_name: 'agent', trace_id: name, project: name })
    }
    t.match(await org.remove('agent_name=agent'), { body: { deleted_count: 4 } })
    const runs = await sql`
      select from pgboss.job where name = 'traces.delete' and group_id = ${org.orgId}`
    t.ok(runs.length >= 4, 'a run for each')
  })

  await t.test('that is canceled keeps what it has done', async (t) => {
    const org = await open(...Array.from({ length: 9 }, (_, i) => ({ trace_id: `t${i}` })))
    // The walk comes to the newest first; the one that is held keeps it from its third step.
    const holder = await sql.reserve()
    await holder`begin`
    await holder`select from traces where org_id = ${org.orgId} and trace_id = 't4' for update`
    const removing = org.remove('agent_name=agent', { prefer: 'wait=50' })
    await until(async () => (await org.ids()).length === 5)
    const { body: list } = await org.client.get('/jobs?kind=traces.delete')
    const canceled = await org.client.post(`/jobs/${list.jobs[0].id}/cancel`)
    t.ok(canceled.status < 300, 'between two steps, or while one waits')
    await holder`rollback`
    holder.release()
    const { body } = await removing
    t.equal(body.status, 'canceled')
    const left = (await org.ids()).length
    t.ok(left > 0 && left < 9, `${left} are left`)
    t.equal(body.deleted_count, 9 - left)
    const [event] = await sql<{ data: { count: number } }[]>`
      select data from audit_events where org_id = ${org.orgId} and action = 'traces.deleted'`
    t.equal(event?.data.count, 9 - left, 'and what is told of it is true')
  })

  await t.test('is done once under an Idempotency-Key', async (t) => {
    const org = await open({ trace_id: '1' })
    const once = { 'idempotency-key': 'k', ...later }
    const [one, two] = [
      await org.remove('agent_name=agent', once),
      await org.remove('agent_name=agent', once),
    ]
    t.same(one.body, two.body)
    t.equal(two.headers['idempotent-replayed'], 'true')
    t.match(await org.remove('agent_name=other', once), { status: 409 })
  })

  await t.test('is tried again by an admin key, or by the one that asked for it', async (t) => {
    const org = await open({ trace_id: '1' })
    const { body } = await org.remove('agent_name=agent')
    await setJobState(sql, body.job_id, 'failed')
    const writer = await makeTestKey(sql, org.orgId, { scope: 'global', permissions: 'write' })
    const retry = `/jobs/${body.job_id}/retry`
    t.match(await service.client(writer.raw).post(retry, { force: true }), {
      status: 403,
      body: { code: 'forbidden', detail: /admin/ },
    })
    t.equal((await org.client.get(`/jobs/${body.job_id}`)).body.state, 'failed')
    t.equal((await org.client.post(retry, { force: true })).status, 202)
    await until(async () => {
      const { body: job } = await org.client.get(`/jobs/${body.job_id}`)
      return job.state === 'succeeded'
    })
    // As of a restore, which other keys than those of admins may ask for.
    await setJobState(sql, body.job_id, 'failed')
    await sql`update jobs set created_by = ${writer.id} where id = ${body.job_id}`
    t.equal((await service.client(writer.raw).post(retry, { force: true })).status, 202)
  })

  await t.test('has copies judged again, and cells added up', async (t) => {
    const org = await open()
    const trace = (trace_id: string, user_id: string, day: number) => ({
      trace_id,
      user_id,
      agent_name: 'agent',
      status: 'success',
      started_at: `2026-10-0${day}T00:00:00Z`,
      llm_calls: [{ rendered_input: hello('you'), output: { role: 'assistant', content: 'Hi' } }],
    })
    const traces = [
      trace('first', 'gone', 1),
      trace('second', 'gone', 2),
      trace('third', 'stays', 3),
      trace('fourth', 'stays', 4),
    ]
    t.match(await org.client.post('/traces/batch', traces), { body: { count: 4 } })
    await until(async () =>
      isDeepStrictEqual(await copies(org.orgId), {
        second: 'first',
        third: 'first',
        fourth: 'first',
      }),
    )
    await until(async () => isDeepStrictEqual(await days(org.orgId), [1, 2, 3, 4]))
    t.match(await org.remove('user_id=gone'), { body: { deleted_count: 2 } })
    await until(async () => isDeepStrictEqual(await copies(org.orgId), { fourth: 'third' }))
    await until(async () => isDeepStrictEqual(await days(org.orgId), [3, 4]))
    t.pass()
  })

  /** The trace that each copy is decided to be one of. */
  async function copies(orgId: string) {
    const rows = await sql<{ trace_id: string; duplicate_of: string }[]>`
      select trace_id, duplicate_of from verdicts
      where org_id = ${orgId} and duplicate_of is not null`
    return Object.fromEntries(rows.map(({ trace_id, duplicate_of }) => [trace_id, duplicate_of]))
  }

  /** The days of October that have score cells. */
  async function days(orgId: string) {
    const rows = await sql<{ day: number }[]>`
      select distinct extract(day from day)::int as day from score_cells
      where org_id = ${orgId} order by day`
    return rows.map(({ day }) => day)
  }
})
