import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  pathOf,
} from '../../support/built-dataset.ts'
import type { Row } from '../../support/built-dataset.ts'
import { makeTestKey } from '../../support/service.ts'
import { storeVersion } from '../../support/stored-version.ts'
import { hello } from '../../support/stored-traces.ts'
import { countLockWaits } from '../../support/lock-waits.ts'
import { until } from '../../support/until.ts'

t.test('datasets', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const traces = Array.from({ length: 12 }, (_, n) => ({
    trace_id: `t-${String(n).padStart(2, '0')}`,
    task_id: `task ${n}`,
    messages: hello(`${n}`),
  }))
  const { api, ...org } = await openOrganization(traces)

  t.test('201: a dataset is created without rows', async (t) => {
    const created = await api.post('/datasets', { name: 'a', dataset_type: 'sft', unknown: 1 })
    t.match(created, { status: 201, headers: { location: `/api/v1/datasets/${created.body.id}` } })
    t.match(created.body, {
      name: 'a',
      dataset_type: 'sft',
      description: null,
      training_target_agent: null,
      project_id: org.projectId,
      current_version_id: null,
      row_count: 0,
      version_count: 0,
    })
    const { status, body } = await api.get(`/datasets/${created.body.id}`)
    t.equal(status, 200)
    t.same(body, { ...created.body, versions: [] })
  })

  t.test('409: a name that is taken names the dataset that has it', async (t) => {
    const { body } = await api.post('/datasets', { name: 'taken', dataset_type: 'sft' })
    const again = await api.post('/datasets', { name: 'taken', dataset_type: 'dpo' })
    t.match(again, {
      status: 409,
      body: { code: 'conflict', detail: { resource: { type: 'dataset', id: body.id } } },
    })
    const elsewhere = { name: 'taken', dataset_type: 'sft', project: 'elsewhere' }
    t.equal(
      (await api.post('/datasets', elsewhere)).status,
      201,
      'other projects have names of their own',
    )
    const other = await api.post('/datasets', { name: 'other', dataset_type: 'sft' })
    t.equal((await api.patch(`/datasets/${other.body.id}`, { name: 'taken' })).status, 409)
    t.equal((await api.patch(`/datasets/${other.body.id}`, { name: 'other' })).status, 200)
  })

  t.test('500: a dataset that cannot be stored leaves no new project', async (t) => {
    await service.sql`alter table datasets add constraint refused check (name <> 'refused')`
    const refused = { name: 'refused', dataset_type: 'sft', project: 'half-made' }
    t.equal((await api.post('/datasets', refused)).status, 500)
    t.equal((await api.get('/traces?project=half-made')).status, 404)
    await service.sql`alter table datasets drop constraint refused`
  })

  t.test('422: all faults of a request are listed', async (t) => {
    const { status, body } = await api.post('/datasets', { dataset_type: 'rlhf', name: '' })
    t.equal(status, 422)
    const fields = (body.details.errors as { field: string }[]).map(({ field }) => field)
    t.same([...new Set(fields)].sort(), ['body.dataset_type', 'body.name'])
    const { body: dataset } = await api.post('/datasets', { name: 'faults', dataset_type: 'sft' })
    const build = (request: object) => api.post(`/datasets/${dataset.id}/build`, request)
    const cases: [object, string][] = [
      [{ filters: { verdicts: ['maybe'] } }, 'body.filters.verdicts.0'],
      [{ filters: { verdicts: [] } }, 'body.filters.verdicts'],
      [{ filters: { min_eval_score: 2 } }, 'body.filters.min_eval_score'],
      [{ filters: { since: 'yesterday' } }, 'body.filters.since'],
      [{ filters: { max_rows: 0 } }, 'body.filters.max_rows'],
      [{ filters: { tool: 'a\0' } }, 'body.filters.tool'],
      [{ split: { train: -1 } }, 'body.split.train'],
      [{ seed: -1 }, 'body.seed'],
      [{ options: { format: 'csv' } }, 'body.options.format'],
      [{ options: { redact: ['names'] } }, 'body.options.redact.0'],
    ]
    for (const [request, field] of cases) {
      const answer = await build(request)
      t.equal(answer.status, 422, field)
      t.equal(answer.body.details.errors[0].field, field)
    }
  })

  t.test('a license is an identifier, other unless told', async (t) => {
    const plain = await api.post('/datasets', { name: 'plain', dataset_type: 'sft' })
    t.equal(plain.body.license, 'other')
    const make = (name: string, license: string) =>
      api.post('/datasets', { name, dataset_type: 'sft', license })
    const { body } = await make('licensed', 'cc-by-nc-sa-4.0')
    t.equal(body.license, 'cc-by-nc-sa-4.0')
    for (const license of ['openrail++', 'llama3.1', 'bsl-1.0']) {
      const changed = await api.patch(`/datasets/${body.id}`, { license })
      t.equal(changed.body.license, license)
    }
    for (const license of ['', 'MIT License', '-mit', 'a\nb', 'x'.repeat(65)]) {
      t.equal((await make('refused', license)).status, 422, license)
      t.equal((await api.patch(`/datasets/${body.id}`, { license })).status, 422, license)
    }
    t.equal((await api.get(`/datasets/${body.id}`)).body.license, 'bsl-1.0')
  })

  t.test('400: parts of a request that do not go together', async (t) => {
    const { body: sft } = await api.post('/datasets', { name: 'parts', dataset_type: 'sft' })
    const { body: dpo } = await api.post('/datasets', {
      name: 'parts of pairs',
      dataset_type: 'dpo',
    })
    const build = async (id: string, request: object) =>
      (await api.post(`/datasets/${id}/build`, request)).status
    t.equal(await build(sft.id, { split: { train: 0.5, test: 0.4 } }), 400)
    t.equal(
      await build(sft.id, {
        filters: { since: '2026-02-01T00:00:00Z', until: '2026-01-01T00:00:00Z' },
      }),
      400,
    )
    t.equal(await build(dpo.id, { options: { format: 'sharegpt' } }), 400)
    t.equal(await build(dpo.id, { options: { rows: 'call' } }), 400)
    t.equal((await api.get('/datasets?cursor=bm90IG91cnM')).status, 400)
    t.equal((await api.get(`/datasets/${sft.id}/versions?cursor=bm90IG91cnM`)).status, 400)
  })

  t.test('201: a build answers with its rows, null members being left out ones', async (t) => {
    const { body: dataset } = await api.post('/datasets', {
      name: 'built',
      dataset_type: 'sft',
      description: null,
    })
    const request = {
      filters: { agent_name: null, tags: null },
      split: null,
      options: { max_tokens: null },
    }
    const answer = await api.post(`/datasets/${dataset.id}/build`, request, { prefer: 'wait=50' })
    t.match(answer, { status: 201, headers: { 'preference-applied': 'wait=50' } })
    t.match(answer.body, {
      version_number: 1,
      version_label: 'v1',
      row_count: 12,
      status: 'ready',
      seed: 0,
    })
    t.match(answer.body.content_hash, /^[0-9a-f]{64}$/)
    t.equal(answer.body.version_id, answer.body.id)
    t.equal(
      (await api.get(`/jobs/${answer.body.job_id}`)).body.links.result,
      `/api/v1${pathOf(answer.body)}`,
    )
    t.match((await api.get(`/datasets/${dataset.id}`)).body, {
      current_version_id: answer.body.id,
      row_count: 12,
      version_count: 1,
      versions: [{ id: answer.body.id }],
    })
  })

  t.test('202: a client that does not wait is told where to look', async (t) => {
    const { body: dataset } = await api.post('/datasets', { name: 'later', dataset_type: 'sft' })
    const answer = await api.post(`/datasets/${dataset.id}/build`, {}, { prefer: 'respond-async' })
    t.match(answer, { status: 202, headers: { location: `/api/v1/jobs/${answer.body.job_id}` } })
    const { body: job } = await api.get(`/jobs/${answer.body.job_id}?wait=50`)
    t.match(job, { state: 'succeeded', result: { version_id: answer.body.id, row_count: 12 } })
  })

  t.test('a version is found by id, number, label and as the latest that is ready', async (t) => {
    const { body: dataset } = await api.post('/datasets', { name: 'versions', dataset_type: 'sft' })
    const find = (reference: string) => api.get(`/datasets/${dataset.id}/versions/${reference}`)
    t.equal((await find('latest')).status, 404)
    const first = await buildVersion(api, dataset.id)
    const second = await buildVersion(api, dataset.id, { filters: { max_rows: 3 } })
    for (const reference of [first.id, '1', 'v1'])
      t.equal((await find(reference)).body.id, first.id)
    t.equal((await find('latest')).body.id, second.id)
    t.match((await find('latest')).body, { parent_version_id: first.id, filters: { max_rows: 3 } })
    for (const reference of ['3', 'v0', 'newest', randomUUIDv7(), 'v1e9'])
      t.equal((await find(reference)).status, 404)
    const page = await api.get(`/datasets/${dataset.id}/versions?limit=1`)
    t.match(page.body, { versions: [{ id: second.id }], total: 2 })
    const next = await api.get(
      `/datasets/${dataset.id}/versions?limit=1&cursor=${page.body.next_cursor}`,
    )
    t.match(next.body, { versions: [{ id: first.id }], next_cursor: null })
  })

  t.test('an answer has no more versions than have 10,000 files together', async (t) => {
    const { body: dataset } = await api.post('/datasets', { name: 'shards', dataset_type: 'sft' })
    const addFiles = (version: string, n: number) => service.sql`
      insert into dataset_files
        (org_id, version_id, format, split, shard, path, storage_key, row_count, size_bytes, sha256)
      select org_id, id, 'jsonl', 'train', n, n, n, 1, 1, '' from dataset_versions,
        generate_series(1000, 999 + ${n}) n where id = ${version}`
    for (const files of [6000, 3000, 5000, 10_001]) {
      await addFiles((await buildVersion(api, dataset.id)).id, files)
    }
    const pages = []
    let cursor = ''
    do {
      const { body } = await api.get(
        `/datasets/${dataset.id}/versions${cursor && `?cursor=${cursor}`}`,
      )
      t.match(body, { total: 4, limit: 50 })
      pages.push(body.versions.map((version: { version_label: string }) => version.version_label))
      cursor = body.next_cursor
    } while (cursor)
    t.same(pages, [['v4'], ['v3', 'v2'], ['v1']])
    const { body } = await api.get(`/datasets/${dataset.id}`)
    t.match(body.versions, { length: 1 })
  })

  t.test('changed members change, and null empties one', async (t) => {
    const made = {
      name: 'change',
      dataset_type: 'sft',
      description: 'old',
      training_target_agent: 'nobody',
    }
    const { body: dataset } = await api.post('/datasets', made)
    t.equal((await buildVersion(api, dataset.id)).row_count, 0, 'the target agent is meant')
    const change = { description: 'new', training_target_agent: null, dataset_type: 'dpo' }
    const { body } = await api.patch(`/datasets/${dataset.id}`, change)
    t.match(body, {
      name: 'change',
      description: 'new',
      training_target_agent: null,
      dataset_type: 'sft',
    })
    t.equal((await buildVersion(api, dataset.id)).row_count, 12)
    t.same((await api.patch(`/datasets/${dataset.id}`, {})).body.name, 'change')
  })

  t.test('datasets are listed newest first, page by page', async (t) => {
    const other = await service.makeOrganization()
    const client = service.client(other.key)
    for (const name of ['a', 'b', 'c'])
      await client.post('/datasets', { name, dataset_type: name === 'b' ? 'dpo' : 'sft' })
    const names = (body: { datasets: { name: string }[] }) => body.datasets.map(({ name }) => name)
    const page = await client.get('/datasets?limit=2')
    t.same(names(page.body), ['c', 'b'])
    t.equal(page.body.total, 3)
    t.same(names((await client.get(`/datasets?limit=2&cursor=${page.body.next_cursor}`)).body), [
      'a',
    ])
    t.same(names((await client.get('/datasets?offset=1&limit=1')).body), ['b'])
    t.same(names((await client.get('/datasets?dataset_type=dpo')).body), ['b'])
  })

  t.test('rows are previewed with their provenance, page by page', async (t) => {
    const { body: dataset } = await api.post('/datasets', { name: 'rows', dataset_type: 'sft' })
    const version = await buildVersion(api, dataset.id, { split: { train: 0.5, test: 0.5 } })
    const page = await api.get(`${pathOf(version)}/rows?limit=5`)
    t.match(page.body, { total: 12, limit: 5 })
    t.match(page.body.rows[0], {
      ordinal: 0,
      split: 'train',
      messages: [{ role: 'user' }, { role: 'assistant', weight: 1 }],
      provenance: { manifest_hash: null, verdict: 'keep', scores: { reward: 1 } },
    })
    const seen = [...page.body.rows]
    for (let cursor = page.body.next_cursor; cursor;) {
      const { body } = await api.get(`${pathOf(version)}/rows?limit=5&cursor=${cursor}`)
      seen.push(...body.rows)
      cursor = body.next_cursor
    }
    t.same(
      seen.map(({ ordinal }) => ordinal),
      Array.from({ length: 12 }, (_, n) => n),
    )
    const ids = new Set(seen.map(({ provenance }) => provenance.trace_id))
    t.equal(ids.size, 12)
    const test = await api.get(`${pathOf(version)}/rows?split=test`)
    t.equal(test.body.total, version.split_counts['test'])
    t.ok(test.body.rows.every(({ split }: { split: string }) => split === 'test'))
    t.equal((await api.get(`${pathOf(version)}/rows?cursor=nonsense`)).status, 400)
  })

  t.test('rows are found by their length, and counted by it', async (t) => {
    const traces = [1, 2, 2, 9].map((turns, n) => ({
      trace_id: `long-${n}`,
      messages: Array.from({ length: turns }, (_, i) => hello(`${n} ${i}`)).flat(),
    }))
    const other = await openOrganization(traces)
    const { body: dataset } = await other.api.post('/datasets', {
      name: 'lengths',
      dataset_type: 'sft',
    })
    const version = await buildVersion(other.api, dataset.id)
    const { body: shown } = await other.api.get(pathOf(version))
    t.same(shown.lengths.messages, [
      { from: 2, to: 2, rows: 1 },
      { from: 4, to: 4, rows: 2 },
      { from: 18, to: 19, rows: 1 },
    ])
    t.same(shown.funnel, { traces: 4, passed: 4, eligible: 4, rows_made: 4 })
    const list = async (query: string) =>
      (await other.api.get(`${pathOf(version)}/rows?${query}`)).body
    const ids = async (query: string) =>
      (await list(query)).rows.map(({ provenance }: Row) => provenance.trace_id)
    t.same(await ids('min_messages=4&max_messages=4'), ['long-1', 'long-2'])
    t.same(await ids('max_messages=3'), ['long-0'])
    t.same(await ids('min_messages=4&max_messages=4&split=test'), [])
    for (const { from, to, rows } of shown.lengths.tokens) {
      const { rows: found, total } = await list(`min_tokens=${from}&max_tokens=${to}`)
      t.equal(found.length, rows)
      t.equal(total, 4, 'of whatever length')
      for (const { token_estimate: n } of found) t.ok(n >= from && n <= to)
    }
    const page = await list('min_messages=4&limit=2')
    t.equal(page.rows.length, 2)
    const { rows } = await list(`min_messages=4&limit=2&cursor=${page.next_cursor}`)
    t.same(
      rows.map(({ ordinal }: { ordinal: number }) => ordinal),
      [3],
    )
  })

  t.test('of a file, little is read between the rows of a length', async (t) => {
    const other = await openOrganization(
      Array.from({ length: 40 }, (_, n) => ({
        trace_id: `t-${n}`,
        messages: hello(n % 39 === 0 ? `${n}` : `${n}`.repeat(10_000)),
      })),
    )
    const version = await buildDataset(other.api, 'sft')
    const { storage } = service.context
    const { read } = storage
    let bytes = 0
    t.teardown(() => Object.assign(storage, { read }))
    Object.assign(storage, {
      read(key: string, range: { start: number; end: number }) {
        bytes += range.end - range.start
        return read.call(storage, key, range)
      },
    })
    const { body } = await other.api.get(`${pathOf(version)}/rows?max_tokens=100`)
    const ids = body.rows.map(({ provenance }: Row) => provenance.trace_id)
    t.same(new Set(ids), new Set(['t-0', 't-39']))
    t.ok(bytes < 200_000, `${bytes}`)
  })

  t.test('a page looks at 100,000 rows for those of a length, and leads to the next', async (t) => {
    const other = await service.makeOrganization()
    const version = await storeVersion(service.sql, other, 150_000)
    await service.sql`
      insert into dataset_version_rows (org_id, version_id, ordinal, trace_id, row_hash,
        score_fingerprint, split, shard, byte_offset, byte_length, tokens)
      select ${other.orgId}, ${version}, n, 't', sha256('t'), '', 'train', 0, 0, 1, 7
      from generate_series(0, 149999) n`
    const { get } = service.client(other.key)
    const [dataset] = (await get('/datasets')).body.datasets
    const path = `/datasets/${dataset.id}/versions/1/rows?min_tokens=8`
    const { body } = await get(path)
    t.match(body, { rows: [], total: 150_000 })
    t.match((await get(`${path}&cursor=${body.next_cursor}`)).body, {
      rows: [],
      next_cursor: null,
    })
  })

  t.test('a row names the span of its call', async (t) => {
    const call = (span_id: string, content: string) => ({
      span_id,
      rendered_input: [{ role: 'user', content }],
      output: { role: 'assistant', content },
    })
    const other = await openOrganization([
      {
        trace_id: 'spans',
        spans: ['first', 'second'].map((id) => ({ id, name: id, span_type: 'llm' })),
        llm_calls: [call('first', '1'), call('second', '2')],
      },
    ])
    const { body: dataset } = await other.api.post('/datasets', { name: 's', dataset_type: 'sft' })
    const version = await buildVersion(other.api, dataset.id, { options: { rows: 'call' } })
    const { body } = await other.api.get(`${pathOf(version)}/rows`)
    t.same(
      body.rows.map(({ span_id }: { span_id: string }) => span_id),
      ['first', 'second'],
    )
  })

  t.test('long rows come in pages of a bounded size, one at least', async (t) => {
    const long = Array.from({ length: 4 }, (_, n) => ({
      trace_id: `${n}`,
      messages: hello(`${n}`.repeat(1_900_000)),
    }))
    const other = await openOrganization(long)
    const { body: dataset } = await other.api.post('/datasets', {
      name: 'long',
      dataset_type: 'sft',
    })
    const version = await buildVersion(other.api, dataset.id)
    const page = await other.api.get(`${pathOf(version)}/rows`)
    t.equal(page.body.rows.length, 2)
    t.ok(page.body.next_cursor)
  })

  t.test('what a key may not see is not found, as what does not exist', async (t) => {
    const { body: dataset } = await api.post('/datasets', { name: 'seen', dataset_type: 'sft' })
    const version = await buildVersion(api, dataset.id)
    const apart = await api.post('/datasets', {
      name: 'apart',
      dataset_type: 'sft',
      project: 'apart',
    })
    const scoped = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'admin',
      workspace_id: org.workspaceId,
      project_id: apart.body.project_id,
    })
    const stranger = await service.makeOrganization()
    for (const key of [scoped.raw, stranger.key]) {
      const client = service.client(key)
      const { datasets } = (await client.get('/datasets')).body
      t.same(datasets, key === scoped.raw ? [apart.body] : [])
      const path = `/datasets/${dataset.id}`
      const missing = `/datasets/${randomUUIDv7()}`
      const calls = [
        ['GET', ''],
        ['PATCH', '', { name: 'mine' }],
        ['DELETE', ''],
        ['POST', '/build', {}],
        ['GET', '/versions'],
        ['GET', `/versions/${version.id}`],
        ['GET', '/versions/latest/export'],
        ['GET', '/versions/1/rows'],
        ['POST', '/versions/1/cancel', {}],
      ] as const
      for (const [method, rest, body] of calls) {
        const [hidden, absent] = [
          await client.call(method, path + rest, body),
          await client.call(method, missing + rest, body),
        ]
        t.equal(hidden.status, 404, `${method} ${rest}`)
        t.same({ ...hidden.body, request_id: '' }, { ...absent.body, request_id: '' })
      }
    }
    t.equal((await api.get(`/datasets/${dataset.id}`)).body.name, 'seen')
  })

  t.test('404: a build of a dataset that is deleted meanwhile', async (t) => {
    const doomed = await api.post('/datasets', { name: 'doomed', dataset_type: 'sft' })
    const path = `/datasets/${doomed.body.id}`
    const building = await service.sql.begin(async (tx) => {
      await tx`delete from datasets where id = ${doomed.body.id}`
      const building = api.post(`${path}/build`, {})
      await until(async () => (await countLockWaits(service.sql)) > 0)
      return [building] as const
    })
    t.match(await building[0], { status: 404, body: { code: 'not_found' } })
  })

  t.test('409: a name that another dataset takes at the same time', async (t) => {
    const one = await api.post('/datasets', { name: 'one', dataset_type: 'sft' })
    const two = await api.post('/datasets', { name: 'two', dataset_type: 'sft' })
    const renaming = await service.sql.begin(async (tx) => {
      await tx`update datasets set name = 'three' where id = ${two.body.id}`
      const renaming = api.patch(`/datasets/${one.body.id}`, { name: 'three' })
      await until(async () => (await countLockWaits(service.sql)) > 0)
      return [renaming] as const
    })
    t.match(await renaming[0], {
      status: 409,
      body: { detail: { resource: { type: 'dataset', id: two.body.id } } },
    })
  })

  t.test('403: a key that may only read builds nothing', async (t) => {
    const { raw } = await makeTestKey(service.sql, org.orgId, {
      scope: 'global',
      permissions: 'read',
    })
    const { body: dataset } = await api.post('/datasets', { name: 'read', dataset_type: 'sft' })
    t.equal((await service.client(raw).post(`/datasets/${dataset.id}/build`, {})).status, 403)
    t.equal((await service.client(raw).get(`/datasets/${dataset.id}`)).status, 200)
  })
})
