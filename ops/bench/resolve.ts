// How long resolving 100 skills of a large registry takes, with their files, one request after the other;
// beside reading one row by its key:
// [DATABASE_URL=...] node ops/bench/resolve.ts [--skills 10000] [--requests 200] [--smoke]
import { withApi } from './api.ts'
import type { Ask } from './api.ts'
import { print, report, round, timeEach } from './figures.ts'
import { readOptions } from './options.ts'
import { withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { fillRegistry, registryNameOf } from './registry-skills.ts'

const ITEMS = 100

const { skills, requests } = readOptions({ skills: [10_000, 200], requests: [200, 5] })
/** All over the registry. */
const refOf = (number: number) => registryNameOf((number * 7919) % skills)

await withBenchDatabase('resolve', async (bench) => {
  await fillRegistry(bench.sql, skills)
  await withApi(bench, (ask) => measure(bench, ask))
})

async function measure({ sql }: Bench, ask: Ask) {
  const resolved = await timeEach(requests, async (request) => {
    const items = Array.from({ length: ITEMS }, (_, index) => ({
      ref: refOf(request * ITEMS + index),
    }))
    await ask('/registry/install/resolve', { items })
  })
  const read = await timeEach(requests * ITEMS, async (number) => {
    await sql`select * from registry_skills where registry_name = ${refOf(number)}`
  })
  print([
    { what: `resolving ${ITEMS} skills`, ...resolved },
    { what: 'one indexed read', ...read },
  ])
  report({
    what: `resolving ${ITEMS} skills`,
    ratio: round(resolved.p95_ms / read.p95_ms),
    figures: `p95 ${resolved.p95_ms} ms against ${read.p95_ms} ms`,
  })
}
