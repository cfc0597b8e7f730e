import { readFile, rm, mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import type { NearScope } from '../../../jobs/rules/datasets/near-scope.ts'
import {
  BANDS,
  countEqualBins,
  hashBand,
  NEAR_BINS,
  openSigner,
} from '../../../jobs/rules/datasets/signature.ts'
import { nearPath, searchNear } from '../../../workers/datasets/near-search.ts'
import { openSignatureFile } from '../../../workers/datasets/signature-file.ts'
import { jaccard, openTexts } from '../../../ops/bench/near-texts.ts'

const sign = openSigner()

t.test('finds the near-duplicates of a planted corpus and takes no others for them', async (t) => {
  const { random, pair } = openTexts(11)
  // Each second text is made of the one before it.
  const pairs = Array.from({ length: 2500 }, () => pair(30 + random.below(300), random.below(8)))
  const texts = pairs.flatMap(({ one, other }) => [one, other])
  const { led, edges } = await search(t, texts.map(asRow))
  const alike = pairs.map(jaccard)
  const near = alike.flatMap((similarity, i) => (similarity >= 0.9 ? [i] : []))
  t.ok(near.length > 500, `${near.length} pairs`)
  const found = near.filter((i) => led.get(2 * i + 1) === 2 * i)
  t.ok(found.length >= 0.95 * near.length, `${found.length} of ${near.length}`)
  const wrong = [...led].filter(([row, kept]) => row !== kept + 1 || (alike[kept / 2] ?? 0) < 0.7)
  t.ok(wrong.length <= 0.001 * led.size, `${wrong.length} of ${led.size}`)
  for (const [row, better, equal] of edges) {
    t.ok(better < row && equal >= 103 && equal <= 128, `${row} ${better} ${equal}`)
  }
})

t.test('no two rows of two splits stay that are as alike as .9', async (t) => {
  const { random, pair } = openTexts(12)
  const pairs = Array.from({ length: 1500 }, () => pair(60 + random.below(200), random.below(4)))
  const texts = pairs.flatMap(({ one, other }) => [one, other])
  const rows = texts.map((text, i) => ({ ...asRow(text, i), split: random.below(3) }))
  const { led } = await search(t, rows, 'other_split')
  for (const [i, planted] of pairs.entries()) {
    const [one, other] = [2 * i, 2 * i + 1]
    const isSame = rows[one]?.split === rows[other]?.split
    if (isSame) t.notOk(led.has(one) || led.has(other), 'copies within a split stay')
    else if (jaccard(planted) >= 0.9) t.equal(led.get(other), one, 'the better one stays')
  }
})

t.test('the numbers of the rows do not matter, only which is the better', async (t) => {
  const { random, pair } = openTexts(13)
  const texts = Array.from({ length: 400 }, () => pair(80, random.below(3))).flatMap(
    ({ one, other }) => [one, other, other],
  )
  const inOrder = await search(t, texts.map(asRow))
  const places = texts.map((_, i) => i).sort(() => random.next() - 0.5)
  const shuffled = await search(
    t,
    texts.map((text, i) => ({ ...asRow(text, i), row: places[i] as number })),
  )
  t.same(shuffled.byRank, inOrder.byRank)
  t.ok(inOrder.led.size > 500)
})

t.test('rows of one trace and rows without words are never near', async (t) => {
  const same = 'all of this is said twice and more than twice'
  const rows = [same, same, same, '...', '!!!'].map((text, i) => ({ ...asRow(text, i), trace: i }))
  const [a, b, c, ...silent] = rows as [Row, Row, Row, Row, Row]
  const { led } = await search(t, [a, { ...b, trace: a.trace }, c, ...silent])
  t.same([...led], [[2, 0]])
})

t.test('a row is compared with the best of each split, however many there are', async (t) => {
  const same = 'the same words come up again and again in all of the splits'
  const rows = Array.from({ length: 300 }, (_, i) => ({
    ...asRow(same, i),
    split: i < 290 ? 0 : 2,
  }))
  t.equal((await search(t, rows)).led.size, 299)
  const apart = await search(t, rows, 'other_split')
  t.equal(apart.led.size, 10)
  for (const [row, kept] of apart.led) t.ok(row >= 290 && kept === 0)
})

t.test('rows whose better ones are all left out are compared with those that stay', async (t) => {
  for (let seed = 1; seed <= 60; seed++) {
    const { random, text } = openTexts(seed)
    const [words, begin, end] = [text(400).split(' '), text(34).split(' '), text(34).split(' ')]
    const edited = (given: string[], at: number) =>
      asRow(given.with(at, `edit${random.below(1 << 30)}`).join(' '), 0)
    // Eight rows are near to the first, and to the last two, which are near to each other alone.
    const first = asRow([...begin, ...words.slice(34)].join(' '), 0)
    const eight = Array.from({ length: 8 }, () => edited(words, 200))
    const last = [...words.slice(0, 366), ...end]
    const rows = [
      { ...first, split: 1 },
      ...eight,
      edited(last, 100),
      { ...edited(last, 150), split: 2 },
    ].map((row, i) => ({ ...row, row: i, trace: i }))
    const { led } = await search(t, rows, 'other_split')
    t.ok(led.has(9) || led.has(10), `seed ${seed}`)
  }
})

t.test(
  'whatever is near to what, no two stay, and each is left out for one that stays',
  async (t) => {
    for (let seed = 1; seed <= 20; seed++) {
      const { random, text } = openTexts(seed)
      const words = text(600).split(' ')
      // Each has a part of the same text, so that it is near to those beside it and not to those beyond.
      const rows = Array.from({ length: 150 }, (_, i) => {
        const from = random.below(400)
        return { ...asRow(words.slice(from, from + 200).join(' '), i), split: random.below(3) }
      })
      const scope = seed % 2 ? 'any' : 'other_split'
      const { led } = await search(t, rows, scope)
      const signed = rows.map(({ text }) => sign([text]))
      const mayNotStay = (one: number, other: number) => {
        const [a, b] = [signed[one], signed[other]] as [Int32Array, Int32Array]
        const isApart = rows[one]?.split !== rows[other]?.split
        return (scope === 'any' || isApart) && countEqualBins(a, b) >= NEAR_BINS && share(a, b)
      }
      for (const [row, kept] of led) t.ok(kept < row && !led.has(kept) && mayNotStay(row, kept))
      const staying = rows.flatMap(({ row }) => (led.has(row) ? [] : [row]))
      for (const row of staying) {
        t.same(
          staying.filter((other) => other < row && mayNotStay(row, other)),
          [],
          `seed ${seed}`,
        )
      }
    }
  },
)

t.test('finds nothing where there is nothing', async (t) => {
  t.equal((await search(t, [])).edges.length, 0)
  t.equal((await search(t, [asRow('one row alone is near to nobody', 0)])).edges.length, 0)
})

t.test('takes no more memory than is said of each row', async (t) => {
  const { text } = openTexts(14)
  // All are near to all that are left of them.
  const one = text(60)
  const rows = Array.from({ length: 40_000 }, (_, i) => asRow(i % 2 ? one : `${i} ${one}`, i))
  const folder = await makeFolder(t)
  const search = store(folder, rows)
  globalThis.gc?.()
  const before = process.memoryUsage().arrayBuffers
  let most = 0
  searchNear({ folder, scope: 'any', ...search }, () => {
    most = Math.max(most, process.memoryUsage().arrayBuffers - before)
  })
  const ofBuffers = 16 * 4096 * 8 + 2048 * 512
  t.ok(most < 62 * rows.length + 2 * ofBuffers, `${most} bytes`)
})

interface Row {
  readonly text: string
  readonly row: number
  readonly trace: number
  readonly split: number
}

function asRow(text: string, i: number): Row {
  return { text, row: i, trace: i, split: 0 }
}

/** Whether rows with these signatures are compared. */
function share(one: Int32Array, other: Int32Array) {
  const bands = Array.from({ length: BANDS }, (_, band) => band)
  return bands.some((band) => hashBand(one, band) === hashBand(other, band))
}

async function makeFolder(t: Test) {
  const folder = await mkdtemp(join(tmpdir(), 'near-'))
  t.teardown(() => rm(folder, { recursive: true }))
  return folder
}

/** Stores the signatures of rows given in the order of preference. */
function store(folder: string, rows: readonly Row[]) {
  const file = openSignatureFile(folder)
  for (const { text } of rows.toSorted((a, b) => a.row - b.row)) file.add(sign([text]))
  file.close()
  return {
    rows: Uint32Array.from(rows, ({ row }) => row),
    traces: Uint32Array.from(rows, ({ trace }) => trace),
    splits: Uint8Array.from(rows, ({ split }) => split),
  }
}

/** Searches among rows given in the order of preference. `led` has the row kept for each one left out. */
async function search(t: Test, rows: readonly Row[], scope: NearScope = 'any') {
  const folder = await makeFolder(t)
  const parts: number[] = []
  searchNear({ folder, scope, ...store(folder, rows) }, (part) => parts.push(part))
  t.equal(parts.at(-1), 1)
  const lines = (await readFile(nearPath(folder), 'utf8')).split('\n').slice(0, -1)
  const edges = lines.map((line) => line.split(',').map((word) => JSON.parse(word)) as Edge)
  const rankOf = new Map(rows.map(({ row }, rank) => [row, rank]))
  return {
    edges,
    byRank: edges.map(([row, better, ...rest]) => [rankOf.get(row), rankOf.get(better), ...rest]),
    led: new Map(edges.flatMap(([row, better, , replaces]) => (replaces ? [[row, better]] : []))),
  }
}

type Edge = [row: number, better: number, equal: number, replaces: boolean]
