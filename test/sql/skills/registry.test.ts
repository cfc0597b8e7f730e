import t from 'tap'
import { REGISTRY_SORTS } from '../../../jobs/rules/skills/registry-order.ts'
import type { Sql } from '../../../sql/core/db.ts'
import { listRegistry } from '../../../sql/skills/registry.ts'
import type { RegistryFilter, RegistryPage } from '../../../sql/skills/registry.ts'
import { insertRegistryRows } from '../../support/registry-rows.ts'
import { openService } from '../../support/service.ts'

const ROWS = 3000

t.test('the registry is read by indexes, however large it is', async (t) => {
  const { sql } = await openService(t)
  await insertRegistryRows(
    sql,
    Array.from({ length: ROWS }, (_, index) => ({
      description: index % 500 ? 'A common word' : 'A common and rare word',
      category: `c${index % 100}`,
      tags: [`t${index % 100}`],
      tier: index % 100 ? 0 : 3,
      score: index % 100 ? null : index / ROWS,
      rating: index % 3 ? null : index / ROWS,
      lift: index / ROWS,
      token_saving: index / ROWS,
      install_count: index,
      published_at: new Date(Date.UTC(2026, 0, 1) + index * 1000),
      band: index % 10 ? 'passed' : 'blocked',
    })),
  )
  await sql`analyze registry_skills, registry_versions`
  const after = {
    is_other: true,
    sort_key: '-0.5',
    skill_id: '01a20080-6a47-7000-8000-4f1d2a9c3b5e',
  }

  for (const order of new Set(Object.values(REGISTRY_SORTS))) {
    t.test(`in the order of ${order}, from any place on`, async (t) => {
      for (const page of [{ order }, { order, after }]) {
        const used = await scansOf(sql, {}, { ...page, limit: 50 })
        t.ok(used.includes(`registry_skills_${order}`), used.join())
        t.notOk(used.includes('Seq Scan'), used.join())
      }
    })
  }

  for (const [index, filter] of [
    ['category', { category: 'c7' }],
    ['tags', { tags: ['t7'] }],
    ['tier', { tier: 3 }],
    ['document', { query: 'rare' }],
    ['name', { query: 'common' }],
    ['url_slug_key', { query: 'common' }],
    ['registry_name_key', { query: 'common' }],
    ['score', { query: 'common' }],
  ] as const) {
    t.test(`of ${JSON.stringify(filter)} by the index of ${index}`, async (t) => {
      const used = await scansOf(sql, filter, { order: 'score', limit: 50 })
      t.ok(used.includes(`registry_skills_${index}`), used.join())
      t.notOk(used.includes('Seq Scan'), used.join())
    })
  }
})

/** The indexes that a page is read by, and how a table is read without one. */
async function scansOf(sql: Sql, filter: RegistryFilter, page: RegistryPage) {
  const rows = await sql<{ 'QUERY PLAN': [{ Plan: Plan }] }[]>`
    explain (format json) ${listRegistry(sql, filter, page)}`
  return [...listScans(rows[0]?.['QUERY PLAN'][0].Plan)]
}

function* listScans(plan: Plan | undefined): Generator<string> {
  if (!plan) return
  if (plan['Index Name'] !== undefined) yield plan['Index Name']
  if (plan['Node Type'] === 'Seq Scan') yield plan['Node Type']
  for (const part of plan.Plans ?? []) yield* listScans(part)
}

interface Plan {
  readonly 'Node Type': string
  readonly 'Index Name'?: string
  readonly Plans?: readonly Plan[]
}
