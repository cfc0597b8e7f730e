import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { REGISTRY_SORTS } from '../../../jobs/rules/skills/registry-order.ts'
import type { RegistrySort } from '../../../jobs/rules/skills/registry-order.ts'
import { insertRegistryRows } from '../../support/registry-rows.ts'
import type { RegistryRow } from '../../support/registry-rows.ts'
import { openService } from '../../support/service.ts'
import type { Service } from '../../support/service.ts'

interface Item {
  skill_id: string
  name: string
  registry_name: string
  rank?: number
  installed_as: string | null
}
interface List {
  items: Item[]
  total: number | null
  total_hint: number
  next_cursor: string | null
}

const SORTS = Object.keys(REGISTRY_SORTS) as RegistrySort[]

async function search({ server }: Service, query: Record<string, string | number>, key?: string) {
  const asked = new URLSearchParams(Object.entries(query).map(([name, v]) => [name, String(v)]))
  const { statusCode, payload } = await server.inject({
    url: `/api/v1/registry/skills?${asked.toString()}`,
    headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
  })
  return { status: statusCode, body: JSON.parse(payload) as List }
}

/** All pages of a list. */
async function readAll(service: Service, query: Record<string, string | number>) {
  const items: Item[] = []
  let cursor: string | null = null
  do {
    const { body }: { body: List } = await search(service, { ...query, ...(cursor && { cursor }) })
    items.push(...body.items)
    cursor = body.next_cursor
  } while (cursor !== null)
  return items
}

/** What a sort compares, the greatest first; null comes last. */
function valueOf(sort: RegistrySort, row: RegistryRow): number | null {
  switch (REGISTRY_SORTS[sort]) {
    case 'score':
      return row.score && 10 * row.tier + row.score
    case 'rating':
      return row.rating
    case 'lift':
      return row.lift
    case 'saving':
      return row.token_saving
    case 'installs':
      return row.install_count
    case 'time':
      return row.published_at.getTime()
  }
}

function naivelySorted(sort: RegistrySort, rows: readonly RegistryRow[]) {
  const place = (row: RegistryRow) => valueOf(sort, row) ?? Number.NEGATIVE_INFINITY
  return rows.toSorted((a, b) =>
    place(a) === place(b) ? (a.skill_id < b.skill_id ? -1 : 1) : place(b) - place(a),
  )
}

t.test('the list of public skills', async (t) => {
  const service = await openService(t)
  const { sql } = service
  // A sequence that is as good as random, of few values, so that many are equal.
  let state = 7
  const below = (limit: number) => (state = (state * 48_271) % 2_147_483_647) % limit
  const some = (value: () => number) => (below(3) === 0 ? null : value())
  const rows = await insertRegistryRows(
    sql,
    Array.from({ length: 120 }, () => {
      const tier = below(4)
      return {
        tier,
        score: tier === 0 ? null : (1 + below(4)) / 5,
        rating: some(() => below(4) / 4),
        lift: some(() => (below(5) - 2) / 10),
        token_saving: some(() => (below(5) - 2) / 10),
        install_count: below(5),
        published_at: new Date(Date.UTC(2026, 0, 1 + below(9), 0, 0, 0, below(2))),
        category: below(2) ? 'data' : 'code',
        tags: ['a', 'b', 'c'].filter(() => below(2)),
      }
    }),
  )
  const ids = (items: readonly { skill_id: string }[]) => items.map(({ skill_id }) => skill_id)

  for (const sort of SORTS) {
    t.test(`is in the order of ${sort}, page after page`, async (t) => {
      const expected = naivelySorted(sort, rows)
      t.same(ids(await readAll(service, { sort, limit: 7 })), ids(expected))
      const ranked = await readAll(service, { sort, limit: 7, view: 'ranks' })
      t.same(ids(ranked), ids(expected.filter((row) => valueOf(sort, row) !== null)))
      t.same(
        ranked.map(({ rank }) => rank),
        ranked.map((_, index) => index + 1),
      )
    })
  }

  t.test('is in the order of the tier and the score unless told', async (t) => {
    const { body } = await search(service, { limit: 500 })
    t.same(ids(body.items), ids(naivelySorted('skill_score', rows)))
    t.match(body, { total: 120, total_hint: 120, next_cursor: null })
  })

  t.test('takes category, tags and badge together', async (t) => {
    const query = { category: 'data', tags: 'a,c', badge: 'supported' }
    const expected = rows.filter(
      ({ category, tags, tier }) =>
        category === 'data' && tags.includes('a') && tags.includes('c') && tier === 2,
    )
    t.ok(expected.length > 0)
    const { body } = await search(service, query)
    t.same(ids(body.items), ids(naivelySorted('skill_score', expected)))
    t.equal(body.total, expected.length)
    for (const [name, value] of Object.entries(query)) {
      t.ok((await search(service, { [name]: value })).body.items.length > expected.length, name)
    }
  })

  t.test('refuses what is no cursor, tag or sort', async (t) => {
    const cursorOf = (place: unknown) => Buffer.from(JSON.stringify(place)).toString('base64url')
    const id = randomUUIDv7()
    for (const place of [
      {},
      [],
      [1, '0', id],
      [2, '0', id, 1],
      [1, 'NaN', id, 1],
      [1, '0', 'x', 1],
      [1, '0', id, 0.5],
    ]) {
      t.equal((await search(service, { cursor: cursorOf(place) })).status, 400)
    }
    t.equal((await search(service, { cursor: cursorOf([1, '-1.5', id, 1]) })).status, 200)
    t.equal((await search(service, { tags: 'a'.repeat(33) })).status, 422)
    t.equal((await search(service, { tags: Array(11).fill('a').join() })).status, 422)
    t.equal((await search(service, { sort: 'name' })).status, 422)
  })
})

t.test('a search', async (t) => {
  const service = await openService(t)
  const { sql } = service
  await insertRegistryRows(sql, [
    ...Array.from({ length: 200 }, (_, index) => ({
      name: `pdf-forms-${index}`,
      description: 'Fills in pdf forms, as pdf-forms does',
      tier: 3,
      score: 0.9,
      install_count: index,
    })),
    { handle: 'zulu', name: 'pdf-forms', description: 'Fills in' },
    {
      handle: 'zulu',
      name: 'tables',
      description: 'Reads größere Tabellen, 100% sure',
      tier: 1,
      score: 0.2,
    },
  ])
  const names = async (query: Record<string, string | number>) =>
    (await search(service, query)).body.items.map(({ registry_name }) => registry_name)

  t.test('for a name has it among the first ten, in every order', async (t) => {
    for (const sort of SORTS) {
      for (const q of ['pdf-forms', 'PDF Forms', ' zulu/pdf-forms ', 'zulu-pdf-forms']) {
        t.ok((await names({ q, sort, limit: 10 })).includes('zulu/pdf-forms'), `${sort} ${q}`)
      }
    }
    const all = await readAll(service, { q: 'pdf-forms', limit: 9 })
    t.equal(new Set(all.map(({ skill_id }) => skill_id)).size, 201)
    t.equal(all.length, 201)
    t.equal((await search(service, { q: 'pdf-forms' })).body.total, 201)
  })

  t.test('for a name that many have reads on through them, and then the others', async (t) => {
    const made = await insertRegistryRows(
      sql,
      Array.from({ length: 30 }, (_, index) => ({
        handle: `owner-${index}`,
        name: index % 3 ? 'twin' : `twin-${index}`,
        install_count: index % 4,
      })),
    )
    const [named, others] = [true, false].map((isNamed) =>
      naivelySorted(
        'installs',
        made.filter(({ name }) => (name === 'twin') === isNamed),
      ),
    )
    const found = await readAll(service, { q: 'twin', sort: 'installs', limit: 4 })
    t.same(
      found.map(({ skill_id }) => skill_id),
      [...(named ?? []), ...(others ?? [])].map(({ skill_id }) => skill_id),
    )
  })

  t.test('finds words in their forms, quotes, and what is left out', async (t) => {
    t.same(await names({ q: 'table' }), ['zulu/tables'])
    t.same(await names({ q: 'GRÖßERE tabellen' }), ['zulu/tables'])
    t.same(await names({ q: '"sure reads"' }), [])
    t.same(await names({ q: 'reads -tables' }), [])
    t.same(await names({ q: 'reads or nothing' }), ['zulu/tables'])
    t.equal((await names({ q: 'filling form' })).length, 50)
  })

  t.test('takes any text', async (t) => {
    for (const q of [
      "'",
      '"',
      '!!!',
      '%',
      '\\',
      '&|!()<->:*',
      '-',
      'zz:*',
      '\u200b',
      '🦆',
      'x'.repeat(512),
    ]) {
      const { status, body } = await search(service, { q })
      t.equal(status, 200, q)
      t.same(body.items, [], q)
    }
    t.equal((await search(service, { q: 'x'.repeat(513) })).status, 422)
    t.equal((await search(service, { q: 'a\0' })).status, 422)
  })
})

t.test('the leaderboard', async (t) => {
  const service = await openService(t)
  const { sql, server } = service
  const daysAgo = (days: number) => new Date(Date.now() - days * 24 * 60 * 60 * 1000)
  const rows = await insertRegistryRows(
    sql,
    Array.from({ length: 30 }, (_, index) => ({
      tier: index % 4,
      score: index % 4 ? 0.5 : null,
      rating: index % 3 ? index / 30 : null,
      lift: index % 5 ? -index / 30 : null,
      token_saving: index % 2 ? 0.25 : null,
      evidence_at: [daysAgo(1), daysAgo(10), daysAgo(60), daysAgo(100)][index % 4] ?? null,
      held_at: index === 29 ? daysAgo(0) : null,
    })),
  )
  const board = async (query: string) => {
    const { statusCode, payload } = await server.inject({
      url: `/api/v1/registry/leaderboard?${query}`,
    })
    return { status: statusCode, body: JSON.parse(payload) as List }
  }

  for (const sort of ['skill_score', 'biggest_improvement', 'efficiency', 'top_rated'] as const) {
    t.test(`ranks what has evidence, by ${sort}`, async (t) => {
      for (const days of [7, 30, 90]) {
        const { body } = await board(`sort=${sort}&window_days=${days}&limit=5`)
        const expected = naivelySorted(
          sort,
          rows.filter(
            (row) =>
              row.held_at === null &&
              valueOf(sort, row) !== null &&
              Number(row.evidence_at) >= Number(daysAgo(days)),
          ),
        ).slice(0, 5)
        t.same(
          body.items.map(({ skill_id, rank }) => ({ skill_id, rank })),
          expected.map(({ skill_id }, index) => ({ skill_id, rank: index + 1 })),
          `${days} days`,
        )
      }
    })
  }

  t.test('is bounded', async (t) => {
    for (const query of ['limit=0', 'limit=101', 'window_days=8', 'sort=recent', 'sort=x']) {
      t.equal((await board(query)).status, 422, query)
    }
    t.equal((await board('limit=100')).status, 200)
  })
})
