import t from 'tap'
import { buildDataset, buildVersion, openDatasetService } from '../../support/built-dataset.ts'
import { hello } from '../../support/stored-traces.ts'

t.test('comparing versions', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const traces = Array.from({ length: 40 }, (_, n) => ({
    trace_id: `t-${n}`,
    task_id: `task ${n}`,
    messages: hello(`${n}`),
    tags: n < 25 ? ['early'] : ['late'],
  }))
  const org = await openOrganization(traces)
  const { api } = org
  const split = { train: 0.5, validation: 0.3, test: 0.2 }
  const first = await buildDataset(api, 'sft', { filters: { tags: ['early'] }, split })
  const { dataset_id: id } = first
  const second = await buildVersion(api, id, { split })
  const third = await buildVersion(api, id, { split, seed: 5, options: { format: 'sharegpt' } })
  const diff = (from: string, to: string) => api.get(`/datasets/${id}/diff?from=${from}&to=${to}`)

  t.test('tells what was added, and that no trace changed its split', async (t) => {
    const { status, body } = await diff('v1', '2')
    t.equal(status, 200)
    t.match(body, {
      from: { version_id: first.id, version_label: 'v1', row_count: 25 },
      to: { version_id: second.id, version_label: 'v2', row_count: 40 },
      added: { count: 15 },
      removed: { count: 0, samples: [] },
      unchanged: { count: 25 },
      changed: { count: 0, rows_from: 0, rows_to: 0, samples: [] },
      split_moves: 0,
      same_splits: true,
      manifest_changes: { added: [], removed: [] },
      filter_changes: [{ path: 'filters.tags', from: ['early'], to: [] }],
      option_changes: [],
    })
    t.equal(body.added.samples.length, 15)
    t.equal(body.unchanged.samples.length, 20)
    t.match(body.added.samples[0], {
      trace_id: 't-25',
      split_from: null,
      split_to: String,
      rows_from: 0,
      rows_to: 1,
      rows_unchanged: 0,
    })
  })

  t.test('tells what was removed, the other way round', async (t) => {
    const { body } = await diff(second.id, first.id)
    t.match(body, { added: { count: 0 }, removed: { count: 15 }, unchanged: { count: 25 } })
    t.match(body.filter_changes, [{ path: 'filters.tags', from: [], to: ['early'] }])
  })

  t.test('tells which traces give other rows, and are in another split', async (t) => {
    const { body } = await diff('v2', 'latest')
    t.match(body, {
      to: { version_id: third.id },
      unchanged: { count: 0 },
      changed: { count: 40, rows_from: 40, rows_to: 40 },
      same_splits: false,
      option_changes: [
        { path: 'options.format', from: 'openai', to: 'sharegpt' },
        { path: 'seed', from: 0, to: 5 },
      ],
    })
    t.ok(body.split_moves > 5 && body.split_moves < 40, `${body.split_moves} moved`)
  })

  t.test('a version is the same as itself', async (t) => {
    const { body } = await diff('v1', 'v1')
    t.match(body, { unchanged: { count: 25 }, added: { count: 0 }, removed: { count: 0 } })
    t.match(body, { changed: { count: 0 }, split_moves: 0, filter_changes: [] })
  })

  t.test('compares the latest version with its parent unless told', async (t) => {
    const { body } = await api.get(`/datasets/${id}/diff`)
    t.match(body, { from: { version_label: 'v2' }, to: { version_label: 'v3' } })
    const orphan = await api.get(`/datasets/${id}/diff?to=v1`)
    t.match(orphan, { status: 404, body: { detail: 'Dataset version not found' } })
  })

  t.test('answers 404 for what is no version of the dataset', async (t) => {
    const foreign = await buildDataset(api, 'sft')
    const other = await openOrganization([])
    const answers = [
      await diff('v9', 'v1'),
      await diff('v1', foreign.id),
      await diff('v1', 'never'),
      await other.api.get(`/datasets/${id}/diff?from=v1&to=v2`),
    ]
    t.same(
      answers.map(({ status, body }) => [status, body.detail]),
      [
        [404, 'Dataset version not found'],
        [404, 'Dataset version not found'],
        [404, 'Dataset version not found'],
        [404, 'Dataset not found'],
      ],
    )
  })

  t.test('answers 409 while one of them is not ready', async (t) => {
    await service.sql`
      update dataset_versions set ready_at = null, content_hash = null, row_count = null
      where org_id = ${org.orgId} and id = ${third.id}`
    for (const [from, to] of [
      ['v1', 'v3'],
      ['v3', 'v1'],
    ] as const) {
      const { status, body } = await diff(from, to)
      t.equal(status, 409)
      t.match(body.detail, 'Version v3 is not ready')
    }
  })
})
