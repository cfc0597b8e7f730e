// How long the pages of the console take over many traces, how many bytes a browser loads for one, and how
// many tokens one takes; beside listing traces over the interface:
// [DATABASE_URL=...] node ops/bench/console.ts [--rows 100000] [--requests 40] [--smoke]
// The exit code is 1 when a page is not shown.
import type { Server } from '@hapi/hapi'
import { pages } from '../../api/console/console.ts'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../api-context.ts'
import { print, report, round, timeEach, whole } from './figures.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import { loadScale } from './scale-data.ts'

/** Tokens a minute that come back, which are counted as spent. */
const RATE = 1000

const { rows, requests } = readOptions({ rows: [100_000, 300], requests: [40, 2] })

await withBenchDatabase('console', async (bench) => {
  const say = (sentence: string) => process.stdout.write(`${sentence}\n`)
  const [organization] = await loadScale(bench, { sizes: [rows], days: 30 }, say)
  if (!organization) throw new Error('No organization was loaded')
  // More tokens than are taken.
  await bench.sql`
    update organizations set rate_per_minute = ${RATE}, rate_burst = 1000000
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
  const get = async (url: string, encoding?: string) => {
    const headers = { authorization: `Bearer ${key}`, 'accept-encoding': encoding }
    const answer = await server.inject({ url, headers })
    if (answer.statusCode === 200) return answer
    process.exitCode = 1
    throw new Error(`${url} answered ${answer.statusCode}`)
  }
  const load = async (url: string) => (await get(url, 'gzip, deflate, br')).rawPayload.length / 1000
  const list = await timeEach(requests, async () => void (await get('/api/v1/traces?limit=50')))
  const assets = await measureAssets(async (url) => (await get(url)).payload, load)
  const shown: Shown[] = []
  for (const [kind, address] of await findPages(async (url) => (await get(url)).payload)) {
    const remaining = async () => Number((await get(address)).headers['ratelimit-remaining'])
    const [before, began] = [await remaining(), performance.now()]
    const times = await timeEach(requests, async () => void (await get(address)))
    const spent = before - (await remaining()) + ((performance.now() - began) * RATE) / 60_000
    const kB = await load(address)
    const isCode = /<(code|pre)\b|class="diff"/.test((await get(address)).payload)
    const coldKB = kB + assets.kB + (isCode ? assets.codeKB : 0)
    shown.push({ kind, ...times, kB, coldKB, tokens: spent / (requests + 1) })
  }
  print(
    shown.map((page) => ({
      ...page,
      kB: round(page.kB),
      coldKB: round(page.coldKB),
      tokens: round(page.tokens),
    })),
  )
  const slowest = shown.reduce((a, b) => (b.p95_ms > a.p95_ms ? b : a))
  const largest = shown.reduce((a, b) => (b.coldKB > a.coldKB ? b : a))
  report({
    what: 'the slowest page of the console, to listing 50 traces over the interface; p95 below 150 ms',
    ratio: round(slowest.p50_ms / list.p50_ms),
    figures: `${slowest.kind}: p95 ${slowest.p95_ms} ms; the list p95 ${list.p95_ms} ms; ${shown.length} pages over ${whole(rows)} traces`,
  })
  report({
    what: 'what a browser loads for a first page with its fonts, compressed; below 80 kB',
    ratio: null,
    figures: `at most ${whole(largest.coldKB)} kB, of which ${round(largest.kB)} kB are ${largest.kind}; at most ${round(Math.max(...shown.map(({ tokens }) => tokens)))} tokens a page`,
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

/** What each page loads: style sheet, modules, font and icon; and the font of code, which only some need. */
async function measureAssets(
  read: (url: string) => Promise<string>,
  load: (url: string) => Promise<number>,
) {
  const page = await read('/console/sign-in')
  const [, base = ''] = /src="(\/console\/assets\/\w+\/)/.exec(page) ?? []
  const named = page.matchAll(/"\/console\/assets\/\w+\/([\w.-]+)"/g)
  const wanted = new Set([...named].map(([, name = '']) => name))
  for (const name of [...wanted].filter((each) => each.endsWith('.ts'))) {
    for (const [, imported = ''] of (await read(base + name)).matchAll(/from '\.\/([\w.-]+)/g)) {
      wanted.add(imported)
    }
  }
  const sizes = await Promise.all([...wanted].map((name) => load(base + name)))
  return { kB: sizes.reduce((sum, kB) => sum + kB, 0), codeKB: await load(`${base}code.woff2`) }
}

interface Shown {
  readonly kind: string
  readonly p50_ms: number
  readonly p95_ms: number
  readonly p99_ms: number
  /** As it is sent. */
  readonly kB: number
  /** With all that a browser loads which has nothing of the console yet. */
  readonly coldKB: number
  readonly tokens: number
}
