import t from 'tap'
import { randomUUIDv7 } from 'node:crypto'
import { resultPage } from '../../../api/console/jobs/result-page.ts'
import { pullTraces } from '../../../jobs/pull-traces.ts'
import { judgeTraces } from '../../../jobs/judge-traces.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { submitJob } from '../../../sql/transactions/submit-job.ts'
import { GiveUp } from '../../../workers/runtime/give-up.ts'
import { handler } from '../../../workers/runtime/handler.ts'
import type { Run } from '../../../workers/runtime/handler.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const HOSTILE = '<script>alert(1)</script> "\' \u202Egnp.exe'

t.test('pages of jobs', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
  const { queue } = service.context
  const submission = { orgId: org.orgId, projectId: null, createdBy: null }
  const submitImport = (id = randomUUIDv7()) =>
    queue.transaction(service.sql, (tx: Transaction) =>
      submitJob(
        tx,
        queue,
        pullTraces,
        { import_id: id },
        { ...submission, resultRef: `/import/${id}` },
      ),
    )
  const stateOf = async (id: string) => (await client.get(`/jobs/${id}`)).body.state as string

  await t.test('say what runs as jobs where there are none', async (t) => {
    const page = await visit(service, org.key, '/console/jobs')
    t.match(page.text, /The last day No job ended in it and none waits.* No jobs yet/)
    await checkPage(t, page)
    const none = await visit(service, org.key, '/console/jobs?state=failed')
    t.match(none.text, /No job matches/)
    t.match(none.text, /operators .* dead-letters redrive/)
    await checkPage(t, none)
  })

  await t.test('show a waiting job, which can be canceled by who may write', async (t) => {
    const id = await submitImport()
    const list = await visit(service, org.key, '/console/jobs')
    t.match(list.text, /Ended 0 Waited for a worker – Took – Running 0 Waiting 1 for up to \d/)
    t.match(list.text, /queued Import from another service import\.pull waits for a worker/)
    t.ok(list.links.includes(`/console/jobs/${id}`))
    t.equal(
      list.document.querySelector('live-region')?.getAttribute('src'),
      '/console/jobs/events',
      'it is live while a job is under way',
    )
    await checkPage(t, list)
    const page = await visit(service, org.key, `/console/jobs/${id}`)
    t.same(page.actions, ['Cancel'])
    t.match(page.text, /queued Waits for a worker/)
    await checkPage(t, page)
    t.same((await visit(service, read.raw, `/console/jobs/${id}`)).actions, [])
    await client.post(`/jobs/${id}/cancel`)
    const canceled = await visit(service, org.key, `/console/jobs/${id}`)
    t.match(canceled.text, /canceled/)
    t.same(canceled.actions, [])
    t.notOk(canceled.document.querySelector('live-region[src]'))
  })

  let goOn = () => {}
  const begun = new Promise<void>((resolve) => (goOn = resolve))
  let error: Error | undefined
  await service.startWorkers([
    handler(pullTraces, async (_, run: Run) => {
      run.progress({ done: 25, total: 100, unit: 'traces', note: HOSTILE })
      await begun
      if (error) throw error
      return { imported_count: 1200, losses: { [HOSTILE]: 2 }, import_id: 'x' }
    }),
  ])

  await t.test('show how far a job is, and send it while it goes on', async (t) => {
    const id = await submitImport()
    await until(async () => (await client.get(`/jobs/${id}`)).body.progress.done === 25)
    const page = await visit(service, org.key, `/console/jobs/${id}`)
    t.match(page.text, /25\.0 % 25 traces of 100 traces Running for/)
    t.match(page.text, /Left .* Attempt 1/)
    t.ok(page.text.includes(HOSTILE))
    await checkPage(t, page)
    const list = await visit(service, org.key, '/console/jobs?state=running')
    t.match(list.text, /25 % of 100 traces/)
    await service.server.start()
    const stream = await fetch(`${service.server.info.uri}/console/jobs/${id}/events`, {
      headers: { authorization: `Bearer ${org.key}` },
    })
    t.match(stream.headers.get('content-type'), /^text\/event-stream/)
    let told = ''
    for await (const chunk of stream.body ?? []) {
      told += Buffer.from(chunk).toString()
      if (told.includes('running')) goOn()
    }
    t.match(told, /^event: change\ndata: ".*running/)
    t.match(told, /event: change\ndata: ".*succeeded.*\n\nevent: end\n/)
    const after = await visit(service, org.key, `/console/jobs/${id}`)
    t.match(after.text, /Result Losses .* 2 Imported count 1,200 Open the import/)
    t.notMatch(after.text, /Import id/)
    t.ok(after.links.some((link) => link.startsWith('/console/imports/')))
    await checkPage(t, after)
  })

  await t.test('show why a job failed, and let it run again', async (t) => {
    error = new GiveUp('no_such_project', HOSTILE)
    const id = await submitImport()
    await until(async () => (await stateOf(id)) === 'failed')
    const page = await visit(service, org.key, `/console/jobs/${id}`)
    t.match(page.text, /It failed with no_such_project/)
    t.ok(page.text.includes(HOSTILE))
    t.same(page.actions, ['Run again nevertheless'])
    t.match(page.document.querySelector('main [data-send]')?.outerHTML, /no_such_project/)
    t.match(page.text, /Attempts 1 failed/)
    await checkPage(t, page)
    t.same((await visit(service, read.raw, `/console/jobs/${id}`)).actions, [])
  })

  await t.test('are summed up over the last day, in all and by kind', async (t) => {
    const page = await visit(service, org.key, '/console/jobs')
    t.match(
      page.text,
      /The last day Ended 3 1 failed 1 canceled Waited for a worker [\d.]+ m?s 95 % ≤/,
    )
    t.match(page.text, /Running 0 Waiting 0 .* By kind 1 Kind/)
    t.match(page.text, /Import from another service ended 3 1 failed 1 canceled waited [\d.]+ m?s/)
    t.ok(page.links.includes('/console/jobs?kind=import.pull'))
    const chart = page.document.querySelector('.last-day svg')
    t.match(chart?.getAttribute('aria-label'), /last 24 hours: 3 in all/)
    const bars = [...(chart?.querySelectorAll('title') ?? [])].map(({ textContent }) => textContent)
    const ended = (word: string) =>
      bars.reduce((sum, said) => sum + Number(new RegExp(`(\\d+) ${word}`).exec(said)?.[1]), 0)
    t.same(['succeeded', 'failed', 'canceled'].map(ended), [1, 1, 1])
    await checkPage(t, page)
    const other = await service.makeOrganization()
    t.match((await visit(service, other.key, '/console/jobs')).text, /No job ended in it/)
  })

  await t.test('are filtered by kind and state, and read on by a cursor', async (t) => {
    await Promise.all(
      Array.from({ length: 31 }, () =>
        queue.transaction(service.sql, (tx: Transaction) =>
          submitJob(
            tx,
            queue,
            judgeTraces,
            { project_id: org.projectId, trace_ids: ['a'] },
            submission,
          ),
        ),
      ),
    )
    const page = await visit(service, org.key, '/console/jobs?kind=evals.judge&state=queued')
    t.match(page.text, /31 jobs/)
    t.notMatch(page.text, /import\.pull/)
    const older = page.links.find((link) => link.includes('cursor='))
    t.match(older, /kind=evals\.judge&state=queued&cursor=/)
    const last = await visit(service, org.key, older ?? '')
    t.equal(last.document.querySelectorAll('[data-row]').length, 1)
    t.ok(page.markup.length < 80_000, `${page.markup.length}`)
    t.equal((await visit(service, org.key, '/console/jobs?state=odd')).status, 422)
  })
})

t.test('what a job made is found by the path of its result', async (t) => {
  const paths = {
    '/api/v1/datasets/d/versions/v': '/console/datasets/d/versions/v',
    '/api/v1/datasets/d/versions/v/pushes': '/console/datasets/d/versions/v',
    '/api/v1/repair/r': '/console/replay/repairs/r',
    '/api/v1/replay/batches/b': '/console/replay/b',
    '/api/v1/regression-check/c': '/console/checks/c',
    '/api/v1/agents/a%20b/bisect?metric=q&project=p':
      '/console/regressions?agent_name=a%20b&project=p',
    '/api/v1/import/i': '/console/imports/i',
    '/api/v1/manifests/m/compatibility/r': '/console/manifests/m',
    '/api/v1/skills/s/versions/2': '/console/skills/s',
  }
  for (const [path, href] of Object.entries(paths)) t.equal(resultPage(path)?.href, href)
  t.equal(resultPage('/api/v1/traces'), undefined)
  t.equal(resultPage(null), undefined)
})
