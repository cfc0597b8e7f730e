// How what the API lists, filters and counts grows with the traces of an organization: the blocks that
// PostgreSQL reads for each request at each size, and how long it takes; then how fast traces are selected
// for a dataset. Beside the largest organization there is another of the same size:
// [DATABASE_URL=...] node ops/bench/scale.ts [--rows 10000,100000,1000000] [--seconds 2] [--days 90]
// [--smoke]
// The exit code is 1 when a request fails, or reads three times as many blocks at the largest size as at
// the smallest.
// With --load 600 instead, the requests take turns at the largest size for so many seconds, while 200
// traces a second come in and are judged.
import { print, report, round, whole } from './figures.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { loadScale } from './scale-data.ts'
import type { ScaleOrganization } from './scale-organization.ts'
import { measureLoad } from './scale-load.ts'
import { describeOrganization } from './scale-organization.ts'
import { openReader } from './scale-reader.ts'
import type { RequestCost } from './scale-reader.ts'
import { fillIn, SCALE_REQUESTS } from './scale-requests.ts'
import { measureSelection } from './scale-selection.ts'

/** Growth of what reads more blocks the more traces there are. */
const FLAT = 3
/** So few blocks say nothing. */
const FEW_BUFFERS = 100
const LEAST_ROWS = 100
const options = readOptions(
  { seconds: [2, 0.01], repeats: [3, 1], days: [90, 2], load: [0, 0] },
  { rows: { type: 'string' } },
)
const sizes = readSizes(options.rows ?? (options.smoke ? '300,900' : '10000,100000,1000000'))
await using opened = new AsyncDisposableStack()
const { path: folder } = opened.use(await openBenchFolder('scale'))
await withBenchDatabase('scale', async (bench) => {
  const measured = options.load > 0 ? sizes.slice(-1) : sizes
  const say = (sentence: string) => process.stdout.write(`${sentence}\n`)
  const organizations = (
    await loadScale(bench, { sizes: measured, days: options.days }, say)
  ).slice(0, measured.length)
  if (options.load > 0) {
    const seconds = options.smoke ? 1 : options.load
    const [largest] = organizations as [ScaleOrganization]
    await measureLoad(bench, largest, { seconds, folder })
  } else {
    await measureRequests(bench, organizations)
    await measureSelection(bench, organizations.at(-1) as ScaleOrganization, folder)
  }
})

async function measureRequests({ url, sql }: Bench, organizations: readonly ScaleOrganization[]) {
  await using opened = new AsyncDisposableStack()
  const read = await openReader(opened, { url, folder, ...options })
  const known = await Promise.all(organizations.map((each) => describeOrganization(sql, each)))
  const rows: Row[] = []
  for (const request of SCALE_REQUESTS) {
    const costs: RequestCost[] = []
    for (const [n, { key }] of organizations.entries()) {
      costs.push(await read(key, fillIn(request, known[n] ?? {})))
    }
    rows.push({ request, costs, growth: growthOf(costs) })
  }
  print(rows.map(viewRow))
  const notAnswered = rows.filter(({ costs }) => costs.some(({ status }) => status !== 200))
  const notFlat = rows.filter(({ growth }) => growth > FLAT)
  for (const { request, costs } of notAnswered) {
    process.stdout.write(
      `not answered: ${request} (${costs.map(({ status }) => status).join(', ')})\n`,
    )
  }
  for (const { request, growth } of notFlat) {
    process.stdout.write(`not flat: ${request} (${round(growth)})\n`)
  }
  if (notAnswered.length > 0 || (notFlat.length > 0 && !options.smoke)) process.exitCode = 1
  const slowest = Math.max(...rows.map(({ costs }) => costs.at(-1)?.p99Ms ?? 0))
  report({
    what: 'requests at the largest size: most growth of buffers, below 3; p99 below 100 ms',
    ratio: round(Math.max(...rows.map(({ growth }) => growth))),
    figures: `${notFlat.length} of ${rows.length} requests grow at ${sizes.map(whole).join(', ')} traces; longest p99 ${whole(slowest)} ms`,
  })
}

/** Blocks at the largest size to those at the smallest; 1 for so few that they may be of chance. */
function growthOf(costs: readonly RequestCost[]) {
  const [first, last] = [costs[0]?.buffers ?? 0, costs.at(-1)?.buffers ?? 0]
  return last <= FEW_BUFFERS ? 1 : last / Math.max(first, 1)
}

function viewRow({ request, costs, growth }: Row) {
  const cells = costs.flatMap(({ buffers, p50Ms, p99Ms }, n) => [
    [`buffers at ${whole(sizes[n] ?? 0)}`, whole(buffers)] as const,
    [`p50/p99 ms at ${whole(sizes[n] ?? 0)}`, `${round(p50Ms)}/${round(p99Ms)}`] as const,
  ])
  return { request, ...Object.fromEntries(cells), growth: round(growth) }
}

/** @throws RangeError for sizes that are not whole numbers */
function readSizes(text: string) {
  const numbers = text.split(',').map(Number)
  if (numbers.every((n) => Number.isSafeInteger(n) && n >= LEAST_ROWS)) {
    return numbers.toSorted((a, b) => a - b)
  }
  throw new RangeError(`--rows are numbers of at least ${LEAST_ROWS}, not ${text}`)
}

interface Row {
  readonly request: string
  readonly costs: readonly RequestCost[]
  readonly growth: number
}
