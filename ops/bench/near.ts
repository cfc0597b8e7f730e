// How many near-duplicates a version finds and how many rows it takes for such that are not, how fast it
// signs rows, and how long and with how much memory it compares them:
// node ops/bench/near.ts [--rows 100000] [--many 1000000] [--seed 1] [--smoke]
// Needs no database. A tenth of the rows are made of another one, and every fourth begins as others do.
import { hash } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openSigner } from '../../jobs/rules/datasets/signature.ts'
import { searchInThread } from '../../workers/datasets/find-near.ts'
import { nearPath } from '../../workers/datasets/near-search.ts'
import { openSignatureFile } from '../../workers/datasets/signature-file.ts'
import { print, report, round, whole } from './figures.ts'
import { jaccard, openTexts } from './near-texts.ts'
import { readOptions } from './options.ts'
import { openBenchFolder } from './prepare.ts'

const options = readOptions({ rows: [100_000, 2000], many: [1_000_000, 4000], seed: [1, 1] })
await using scratch = await openBenchFolder('near')

const corpus = [...makeRows(options.rows)]
const signing = measureSigning(corpus.map(({ text }) => text))
const found = await measureFinding(corpus)
const searched = await measureSearch(options.many)
print([{ rows: options.rows, ...signing, ...found }])
print([{ rows: options.many, ...searched }])
report(
  {
    what: 'signing rows, to SHA-256 of the same text',
    ratio: signing.ratio,
    figures: `${whole(signing.mb_s)} against ${whole(signing.sha256_mb_s)} MB/s`,
  },
  {
    what: 'near-duplicates left out, of those that share .9',
    ratio: found.recall,
    figures: `${whole(found.near)} of ${whole(options.rows)} rows; ${found.wrong} of ${whole(found.left_out)} left out share less than .7`,
  },
  {
    what: 'comparing rows',
    ratio: null,
    figures: `${whole(options.many)} rows in ${round(searched.seconds)} s, ${whole(searched.rss_mib)} MiB more at most; ${whole(searched.left_out)} left out`,
  },
)

/** In the order of preference: a row comes after the one it is made of. */
function* makeRows(count: number): Generator<MadeRow> {
  const { random, text, edited } = openTexts(options.seed)
  const openings = Array.from({ length: 20 }, () => text(60))
  const recent: string[] = []
  for (let row = 0; row < count; row++) {
    const source =
      recent.length > 0 && row % 10 === 9 ? row - 1 - random.below(recent.length) : null
    const opening = row % 4 === 0 ? `${openings[random.below(openings.length)]} ` : ''
    const made =
      source === null
        ? `${opening}${text(60 + random.below(180))}`
        : edited(recent.at(source - row) as string, random.below(10))
    recent.push(made)
    if (recent.length > 9) recent.shift()
    yield { text: made, source }
  }
}

/** Both in turns, on the texts as the rows have them: the best of five. */
function measureSigning(texts: readonly string[]) {
  const megabytes = texts.reduce((sum, text) => sum + text.length, 0) / 1e6
  const sign = openSigner()
  const best = { sign: Infinity, sha256: Infinity }
  for (let turn = 0; turn < 5; turn++) {
    best.sign = Math.min(
      best.sign,
      secondsOf(() => texts.forEach((text) => sign([text]))),
    )
    best.sha256 = Math.min(
      best.sha256,
      secondsOf(() => texts.forEach((text) => hash('sha256', text))),
    )
  }
  const [mb_s, sha256_mb_s] = [megabytes / best.sign, megabytes / best.sha256]
  return { mb_s: round(mb_s), sha256_mb_s: round(sha256_mb_s), ratio: round(mb_s / sha256_mb_s) }
}

function secondsOf(work: () => void) {
  const start = performance.now()
  work()
  return (performance.now() - start) / 1000
}

async function measureFinding(rows: readonly MadeRow[]) {
  const { led } = await search('found', rows)
  const near = rows.flatMap(({ text, source }, row) => {
    if (source === null) return []
    const similarity = jaccard({ one: text, other: rows[source]?.text ?? '' })
    return similarity >= 0.9 ? [{ row, source }] : []
  })
  const missed = near.filter(({ row, source }) => !led.has(row) && !led.has(source))
  const wrong = [...led].filter(
    ([row, kept]) => jaccard({ one: rows[row]?.text ?? '', other: rows[kept]?.text ?? '' }) < 0.7,
  )
  return {
    near: near.length,
    recall: Math.round((1 - missed.length / near.length) * 1e4) / 1e4,
    left_out: led.size,
    wrong: wrong.length,
  }
}

async function measureSearch(count: number) {
  const { led, ...measured } = await search('many', makeRows(count))
  return { ...measured, left_out: led.size }
}

/** Signs and compares rows given in the order of preference. */
async function search(name: string, rows: Iterable<MadeRow>) {
  const folder = join(scratch.path, name)
  await mkdir(folder)
  const count = await signAll(folder, rows)
  const numbers = () => Uint32Array.from({ length: count }, (_, row) => row)
  const ranked = { rows: numbers(), traces: numbers(), splits: new Uint8Array(count) }
  const before = process.memoryUsage.rss()
  let most = before
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss())
  }, 20)
  const start = performance.now()
  const { signal } = new AbortController()
  await searchInThread({ folder, scope: 'any', ...ranked }, signal, () => undefined)
  clearInterval(watch)
  const seconds = round((performance.now() - start) / 1000)
  const rss_mib = Math.round((most - before) / 2 ** 20)
  return { seconds, rss_mib, led: await readLeads(folder) }
}

async function signAll(folder: string, rows: Iterable<MadeRow>) {
  const file = openSignatureFile(folder)
  const sign = openSigner()
  let count = 0
  for (const { text } of rows) {
    file.add(sign([text]))
    count++
  }
  file.close()
  return count
}

/** The row kept for each one left out. */
async function readLeads(folder: string) {
  const lines = (await readFile(nearPath(folder), 'utf8')).split('\n').slice(0, -1)
  const led = lines.map((line) => line.split(',')).filter(([, , , replaces]) => replaces === 'true')
  return new Map(led.map(([row, kept]) => [Number(row), Number(kept)]))
}

interface MadeRow {
  readonly text: string
  /** The row it was made of; null where it is its own. */
  readonly source: number | null
}
