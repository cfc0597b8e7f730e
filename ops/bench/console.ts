// How long the pages of the console take over many traces, how many bytes a browser loads for one, and how
// many tokens one takes; beside listing traces over the interface:
// [DATABASE_URL=...] node ops/bench/console.ts [--rows 100000] [--requests 40] [--smoke]
// The exit code is 1 when a page is not shown.
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Server } from '@hapi/hapi'
import { pages } from '../../api/console/console.ts'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../context.ts'
import { print, report, round, timeEach, whole } from './figures.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import { loadScale } from './scale-data.ts'

const { rows, requests } = readOptions({ rows: [100_000, 300], requests: [40, 2] })

await withBenchDatabase('console', async (bench) => {
  const say = (sentence: string) => process.stdout.write(`${sentence}\n`)
  const [organization] = await loadScale(bench, { sizes: [rows], days: 30 }, say)
  if (!organization) throw new Error('No organization was loaded')
  // So slow a rate that the tokens of a page can be counted, and more of them than are taken.
  await bench.sql`
    update organizations set rate_per_minute = 1000, rate_burst = 1000000
    where id = ${organization.owner.org_id}`
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await openBenchFolder('console'))
  const config = readConfig({ DATA_DIR: folder.path, LOG_LEVEL: 'error' })
  const service = await openApiContext(config, bench.url)
  opened.defer(() => service.close())
  const server = await createApi(service.context)
  opened.defer(() => server.stop())
  await measure(server, organization.key)
})

async function measure(server: Server, key: string) {
  const get = async (url: string) => {
    const answer = await server.inject({ url, headers: { authorization: `Bearer ${key}` } })
    if (answer.statusCode === 200) return answer
    process.exitCode = 1
    throw new Error(`${url} answered ${answer.statusCode}`)
  }
  const list = await timeEach(requests, async () => void (await get('/api/v1/traces?limit=50')))
  const shown: Shown[] = []
  for (const [kind, address] of await findPages(async (url) => (await get(url)).payload)) {
    const { payload, headers } = await get(address)
    const before = Number(headers['ratelimit-remaining'])
    const after = Number((await get(address)).headers['ratelimit-remaining'])
    const times = await timeEach(requests, async () => void (await get(address)))
    shown.push({ kind, ...times, kB: await compressedKB(payload), tokens: before - after })
  }
  const assetKB = await sumAssets(get)
  print(shown.map((page) => ({ ...page, kB: round(page.kB) })))
  const slowest = shown.reduce((a, b) => (b.p95_ms > a.p95_ms ? b : a))
  const largest = shown.reduce((a, b) => (b.kB > a.kB ? b : a))
  report({
    what: 'the slowest page of the console, to listing 50 traces over the interface; p95 below 150 ms',
    ratio: round(slowest.p50_ms / list.p50_ms),
    figures: `${slowest.kind}: p95 ${slowest.p95_ms} ms; the list p95 ${list.p95_ms} ms; ${shown.length} pages over ${whole(rows)} traces`,
  })
  report({
    what: 'what a browser loads for a first page with its fonts, compressed; below 80 kB',
    ratio: null,
    figures: `${whole(largest.kB + assetKB)} kB, of which ${round(largest.kB)} kB are ${largest.kind}; at most ${Math.max(...shown.map(({ tokens }) => tokens))} token a page`,
  })
}

/** One address of each page, as far as links lead from those that have no parameters. */
async function findPages(read: (url: string) => Promise<string>) {
  const found = new Map<string, string>()
  const kinds = pages
    .map(({ path }) => path.slice(1))
    .sort((a, b) => a.split('{').length - b.split('{').length)
  const links = kinds.filter((path) => !path.includes('{'))
  for (let address = links.shift(); address !== undefined; address = links.shift()) {
    const [path = ''] = address.split('?')
    const kind = kinds.find((each) =>
      new RegExp(`^${each.replace(/\{\w+\}/g, '[^/]+')}$`).test(path),
    )
    if (kind === undefined || found.has(kind)) continue
    found.set(kind, address)
    for (const [, href = ''] of (await read(address)).matchAll(/href="(\/console\/[^"#]*)/g)) {
      links.push(href.replaceAll('&amp;', '&'))
    }
  }
  return found
}

/** The style sheet, the modules, the fonts and the icon, as they are sent. */
async function sumAssets(get: (url: string) => Promise<{ payload: string; rawPayload: Buffer }>) {
  const { payload } = await get('/console/sign-in')
  const [, base] = /src="(\/console\/assets\/\w+\/)/.exec(payload) ?? []
  const names = [...payload.matchAll(/"\/console\/assets\/\w+\/([\w.-]+)"/g)].map(
    ([, name]) => name,
  )
  let bytes = 0
  const wanted = new Set<string | undefined>(names)
  for (const name of wanted) {
    const { payload: text, rawPayload } = await get(`${base}${name}`)
    bytes += name?.endsWith('woff2') ? rawPayload.length : 1000 * (await compressedKB(text))
    for (const [, imported] of text.matchAll(/(?:from '\.\/|url\()([\w.-]+)/g)) wanted.add(imported)
  }
  return bytes / 1000
}

async function compressedKB(text: string) {
  return (await promisify(gzip)(text)).length / 1000
}

interface Shown {
  readonly kind: string
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  /** Compressed. */
  readonly kB: number
  readonly tokens: number
}
