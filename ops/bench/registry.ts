// How long the public registry takes to be listed and searched, one request after the other; beside reading
// one row by its key:
// [DATABASE_URL=...] node ops/bench/registry.ts [--skills 10000] [--requests 200] [--smoke]
import { withApi } from './api.ts'
import type { Ask } from './api.ts'
import { print, report, round, timeEach } from './figures.ts'
import { readOptions } from './options.ts'
import { withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { fillRegistry, registryNameOf } from './registry-skills.ts'

const { skills, requests } = readOptions({ skills: [10_000, 300], requests: [200, 5] })
/** All over the registry. */
const nameOf = (request: number) => registryNameOf((request * 7919) % skills)

/** What is asked below /api/v1/registry. */
const ASKED: readonly (readonly [what: string, pathOf: (request: number) => string])[] = [
  ['listing the registry', () => 'skills'],
  ['listing the registry by installs', () => 'skills?sort=installs'],
  ['listing a category', (request) => `skills?category=category ${request % 20}`],
  ['listing a tag', (request) => `skills?tags=tag ${request % 50}`],
  ['searching for a word that all skills have', () => 'skills?q=common'],
  ['searching for a word that one skill has', () => 'skills?q=rare150x'],
  ['searching for the name of a skill', (request) => `skills?q=${nameOf(request)}`],
  ['showing the leaderboard', () => 'leaderboard'],
  ['showing a skill', (request) => `skills/${encodeURIComponent(nameOf(request))}`],
]

await withBenchDatabase('registry', async (bench) => {
  await fillRegistry(bench.sql, skills)
  await withApi(bench, (ask) => measure(bench, ask))
})

async function measure({ sql }: Bench, ask: Ask) {
  const read = await timeEach(requests * ASKED.length, async (number) => {
    await sql`select * from registry_skills where registry_name = ${nameOf(number)}`
  })
  const rows: ({ what: string } & typeof read)[] = []
  for (const [what, pathOf] of ASKED) {
    const spent = await timeEach(requests, (request) => ask(`/registry/${pathOf(request)}`))
    rows.push({ what, ...spent })
  }
  print([...rows, { what: 'one indexed read', ...read }])
  const figures = rows.map(({ what, p50_ms, p99_ms }) => ({
    what,
    ratio: round(p50_ms / read.p50_ms),
    figures: `p50 ${p50_ms} against ${read.p50_ms} ms, p99 ${p99_ms} against ${read.p99_ms} ms`,
  }))
  report(...figures)
}
