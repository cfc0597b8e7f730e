import t from 'tap'
import { langfuse } from '../../../../workers/import/pull/langfuse.ts'
import { SourceRefused } from '../../../../workers/import/pull/platform.ts'
import type { PageAsk, SourceRequest } from '../../../../workers/import/pull/platform.ts'

const WINDOW = { from: new Date('2026-11-01T00:00:00Z'), to: new Date('2026-11-02T00:00:00Z') }

/** A platform that answers by the path, and remembers what it was asked. */
function open(answers: Readonly<Record<string, (asked: SourceRequest) => object>>) {
  const asked: SourceRequest[] = []
  const puller = langfuse.open({
    connection: { base_url: 'https://platform.test', project: 'shop', workspace: null },
    async ask(request) {
      asked.push(request)
      const answer = answers[request.path]?.(request)
      if (!answer) throw new SourceRefused(404, 'Not found')
      const { data = [], ...rest } = answer as { data?: object[] }
      if (request.rows === undefined) return { rows: [], rest: { data, ...rest } }
      return { rows: data.map((row) => Buffer.from(JSON.stringify(row))), rest }
    },
  })
  const list = (ask: Partial<PageAsk>) =>
    puller.listPage({ project: '', window: WINDOW, cursor: undefined, limit: 1000, ...ask })
  /** The records of all pages of the window. */
  async function listAll(project: string, limit?: number) {
    const records: unknown[] = []
    for (let cursor: string | undefined, i = 0; i < 50; i++) {
      const page = await list({ project, cursor, ...(limit && { limit }) })
      for (const record of page.records) records.push(JSON.parse(String(record)))
      cursor = page.next
      if (cursor === undefined) return records
    }
    throw new Error('There is no end')
  }
  return { puller, asked, list, listAll }
}

const PROJECTS = { '/api/public/projects': () => ({ data: [{ id: 'p1', name: 'shop' }] }) }
const NONE = () => ({ data: [], meta: {} })

t.test('the best lists are chosen that the installation has', async (t) => {
  const { puller } = open({
    ...PROJECTS,
    '/api/public/v2/observations': NONE,
    '/api/public/v3/scores': NONE,
    '/api/public/traces': NONE,
  })
  t.equal(await puller.begin(), 'observations_v2,scores_v3')
  const older = open({
    ...PROJECTS,
    '/api/public/traces': NONE,
    '/api/public/observations': NONE,
    '/api/public/v2/scores': NONE,
  })
  t.equal(await older.puller.begin(), 'traces_v1,observations_v1,scores_v2')
  const oldest = open({
    ...PROJECTS,
    '/api/public/traces': NONE,
    '/api/public/observations': NONE,
    '/api/public/scores': NONE,
  })
  t.equal(await oldest.puller.begin(), 'traces_v1,observations_v1,scores_v1')
  await t.rejects(open(PROJECTS).puller.begin(), {
    code: 'source_rejected',
    message: /none of the lists/,
  })
})

t.test('keys of another project are refused', async (t) => {
  const { puller } = open({ '/api/public/projects': () => ({ data: [{ id: 'p2', name: 'b' }] }) })
  await t.rejects(puller.begin(), { message: 'The keys are of another project' })
})

t.test('lists follow each other, and pages by their cursors', async (t) => {
  const { asked, listAll } = open({
    '/api/public/v2/observations': ({ query }) =>
      query?.['cursor'] === 'c2'
        ? { data: [{ id: 2 }], meta: {} }
        : { data: [{ id: 1 }], meta: { cursor: 'c2' } },
    '/api/public/v3/scores': () => ({ data: [{ id: 's' }], meta: { limit: 100 } }),
  })
  t.same(await listAll('observations_v2,scores_v3'), [{ id: 1 }, { id: 2 }, { id: 's' }])
  t.match(
    asked.map(({ query }) => query),
    [
      {
        fromStartTime: '2026-11-01T00:00:00.000Z',
        toStartTime: '2026-11-02T00:00:00.000Z',
        fields: /^core,.*trace_context$/,
        limit: 1000,
      },
      { cursor: 'c2' },
      { fromTimestamp: '2026-11-01T00:00:00.000Z', limit: 100, fields: /subject/ },
    ],
  )
})

t.test('a cursor that leads nowhere else is refused', async (t) => {
  const stuck = () => ({ data: [], meta: { cursor: 'same' } })
  const { listAll } = open({ '/api/public/v3/scores': stuck })
  await t.rejects(listAll('scores_v3'), { message: /same page/ })
})

t.test('numbered pages are read to the end, with or without a count of them', async (t) => {
  const rows = Array.from({ length: 25 }, (_, id) => ({ id }))
  for (const isCounted of [true, false]) {
    const { listAll, list } = open({
      '/api/public/observations'({ query }) {
        const [page, limit] = [Number(query?.['page']), Number(query?.['limit'])]
        const data = rows.slice((page - 1) * limit, page * limit)
        return { data, meta: isCounted ? { totalPages: Math.ceil(25 / limit) } : {} }
      },
    })
    t.same(await listAll('observations_v1', 10), rows)
    t.same(await listAll('observations_v1', 25), rows)
    const first = await list({ project: 'observations_v1', limit: 10 })
    t.equal(first.pages, isCounted ? 3 : 2)
    const shorter = await list({ project: 'observations_v1', limit: 5, cursor: first.next })
    t.same(shorter.records.map(String), [
      '{"id":0}',
      '{"id":1}',
      '{"id":2}',
      '{"id":3}',
      '{"id":4}',
    ])
  }
})

t.test('metadata that is cut is asked for whole, of later pages at once', async (t) => {
  const long = 'x'.repeat(500)
  const { asked, list } = open({
    '/api/public/v2/observations'({ query }) {
      const named = String(query?.['expandMetadata'] ?? '').split(',')
      const whole = { transcript: long, 'a,b': long, short: 'y' }
      const shown = Object.entries(whole).map(([key, value]) => [
        key,
        named.includes(key) ? value : value.slice(0, 200),
      ])
      return { data: [{ id: 1, metadata: Object.fromEntries(shown) }], meta: {} }
    },
  })
  for (const times of [2, 1]) {
    asked.length = 0
    const { records, losses } = await list({ project: 'observations_v2' })
    t.equal(asked.length, times)
    const { metadata } = JSON.parse(String(records[0]))
    t.equal(metadata.transcript, long)
    t.same(losses, { metadata_cut: 1 }, 'a key with a comma cannot be named')
  }
})

t.test('only a value of exactly 200 characters may be cut', async (t) => {
  const face = '\u{1F642}'
  const lost = async (value: string) => {
    const { list } = open({
      '/api/public/v2/observations': () => ({ data: [{ id: 1, metadata: { 'a,b': value } }] }),
    })
    return (await list({ project: 'observations_v2' })).losses
  }
  for (const whole of ['x'.repeat(199), 'x'.repeat(201), face.repeat(100), face.repeat(201)]) {
    t.same(await lost(whole), {})
  }
  for (const cut of ['x'.repeat(200), face.repeat(200), `${face}${'x'.repeat(199)}`]) {
    t.same(await lost(cut), { metadata_cut: 1 })
  }
})

t.test('how many rows a page is asked for depends on its list', async (t) => {
  const { puller } = open({})
  const project = 'observations_v2,scores_v3'
  t.equal(puller.mostRows?.({ project, cursor: undefined }), 1000)
  t.equal(puller.mostRows?.({ project, cursor: '{"name":"scores_v3"}' }), 100)
})
