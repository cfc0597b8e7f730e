import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { openService } from '../support/service.ts'

t.test('SQL is not put together from texts', async (t) => {
  const files = globSync('{api,jobs,sql,workers}/**/*.ts')
  t.ok(files.length > 200, `${files.length} files`)
  const unsafe = files.filter((file) => /\.unsafe\b/.test(readFileSync(file, 'utf8')))
  // pg-boss's statements with their parameters; what others send through a gate; the files of migrations;
  // statements of the columns of a trace or a backup's line, whose values are parameters or copied; names of partitions;
  // constants of ours.
  t.same(unsafe.sort(), [
    'jobs/pg-boss.ts',
    'sql/core/build-index.ts',
    'sql/core/concurrent-index.ts',
    'sql/core/fall-back.ts',
    'sql/core/gated-pool.ts',
    'sql/core/migrate.ts',
    'sql/datasets/selection.ts',
    'sql/import/backup/line-pages.ts',
    'sql/import/backup/line-rows.ts',
    'sql/import/backup/trace-pages.ts',
    'sql/import/restored-traces.ts',
    'sql/manifests/manifest-links.ts',
    'sql/replay/leases.ts',
    'sql/traces/periods.ts',
    'sql/traces/trace-copy.ts',
    'sql/traces/trace-inserts.ts',
    'sql/traces/trace-updates.ts',
    'workers/datasets/select-traces.ts',
    'workers/replay/prepare-replay.ts',
  ])
})

t.test('what a client writes is data', async (t) => {
  const service = await openService(t)
  const { key } = await service.makeOrganization()
  const { get, post } = service.client(key)
  const hostile = [
    "'; drop table traces; --",
    "' or '1'='1",
    '%',
    '_',
    '\\',
    '$1',
    '${x}',
    'a & !b | (',
    '"; select pg_sleep(10); --',
  ]
  await post('/traces', {
    trace_id: 'plain',
    agent_name: 'plain',
    tags: ['plain'],
    user_id: 'plain',
  })

  t.test('in filters, which match it and nothing else', async (t) => {
    const filters = [
      'agent_name',
      'session_id',
      'task_id',
      'tag',
      'tool',
      'user_id',
      'environment',
      'q',
    ]
    for (const filter of filters) {
      for (const text of hostile) {
        const { status, body } = await get(`/traces?${filter}=${encodeURIComponent(text)}`)
        t.equal(status, 200, `${filter} ${text}`)
        t.same(body.traces, [], `${filter} ${text}`)
      }
    }
  })

  t.test('in members, which come back as they were', async (t) => {
    for (const [i, text] of hostile.entries()) {
      const trace = {
        trace_id: `t${i}`,
        agent_name: text,
        tags: [text],
        metadata: { [text]: text },
      }
      t.equal((await post('/traces', trace)).status, 201, text)
      t.match((await get(`/traces/t${i}`)).body, trace)
      const { body } = await get(`/traces?agent_name=${encodeURIComponent(text)}`)
      t.same(
        body.traces.map(({ trace_id }: { trace_id: string }) => trace_id),
        [`t${i}`],
        text,
      )
    }
  })
})
