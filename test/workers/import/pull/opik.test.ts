import t from 'tap'
import { opik } from '../../../../workers/import/pull/opik.ts'
import type { PageAsk, SourceRequest } from '../../../../workers/import/pull/platform.ts'

const WINDOW = { from: new Date('2026-11-01T00:00:00Z'), to: new Date('2026-11-02T00:00:00Z') }
const ID = '01900000-0000-7000-8000-000000000001'

/** A platform whose searches find rows by how many are asked for. */
function open(find: (limit: number) => readonly object[]) {
  const limits: number[] = []
  const puller = opik.open({
    connection: { base_url: 'https://platform.test', project: 'shop', workspace: null },
    async ask({ body }: SourceRequest) {
      const limit = Number(body?.['limit'])
      limits.push(limit)
      return { rows: find(limit).map((row) => Buffer.from(JSON.stringify(row))), rest: {} }
    },
  })
  const list = (ask: Partial<PageAsk> = {}) =>
    puller.listPage({ project: 'p', window: WINDOW, cursor: undefined, limit: 2000, ...ask })
  return { limits, list }
}

t.test('an end is believed once a single row is not found either', async (t) => {
  const { limits, list } = open(() => [])
  t.match(await list(), { records: [], next: 'spans:' })
  t.match(await list({ cursor: `spans:${ID}` }), { next: undefined })
  t.same(limits, [2000, 1, 2000, 1])
  t.match(await list({ limit: 1 }), { next: 'spans:' })
  t.equal(limits.length, 5, 'nothing smaller can be asked for')
})

t.test('a page that is empty because the search failed is no end', async (t) => {
  const { list } = open((limit) => (limit === 1 ? [{ id: ID }] : []))
  await t.rejects(list(), { message: /broke off/ })
  t.match(
    await list({ cursor: `traces:${ID}` }),
    { next: 'spans:' },
    'the row before is no further',
  )
})

t.test('an answer that ends with what is no row broke off', async (t) => {
  const { list } = open(() => [{ id: ID }, { code: 500, message: 'out of memory' }])
  await t.rejects(list(), { message: /broke off/ })
})
