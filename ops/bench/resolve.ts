// How long resolving 100 skills of a large registry takes, with their files, one request after the other;
// beside reading one row by its key:
// [DATABASE_URL=...] node ops/bench/resolve.ts [--skills 10000] [--requests 200] [--smoke]
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../context.ts'
import { print, report, round, timeEach } from './figures.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { fillRegistry, registryNameOf } from './registry-skills.ts'

const ITEMS = 100

const { skills, requests } = readOptions({ skills: [10_000, 200], requests: [200, 5] })
await withBenchDatabase('resolve', measure)

async function measure({ url, sql, key }: Bench) {
  await fillRegistry(sql, skills)
  await using folder = await openBenchFolder('resolve')
  const opened = await openApiContext(
    readConfig({ DATA_DIR: folder.path, LOG_LEVEL: 'error' }),
    url,
  )
  const api = await createApi(opened.context)
  // All over the registry.
  const refOf = (number: number) => registryNameOf((number * 7919) % skills)
  const resolved = await timeEach(requests, async (request) => {
    const items = Array.from({ length: ITEMS }, (_, index) => ({
      ref: refOf(request * ITEMS + index),
    }))
    const { statusCode } = await api.inject({
      method: 'POST',
      url: '/api/v1/registry/install/resolve',
      headers: { authorization: `Bearer ${key}` },
      payload: { items },
    })
    if (statusCode !== 200) throw new Error(`Resolving answered ${statusCode}`)
  })
  const read = await timeEach(requests * ITEMS, async (number) => {
    await sql`select * from registry_skills where registry_name = ${refOf(number)}`
  })
  await api.stop()
  await opened.close()
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
