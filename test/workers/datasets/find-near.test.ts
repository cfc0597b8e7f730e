import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { completeRecipe } from '../../../jobs/rules/datasets/recipe.ts'
import { LOSSES } from '../../../jobs/rules/datasets/row-writer.ts'
import { RARE_MEMBERS } from '../../../jobs/rules/datasets/formats.ts'
import { openSigner } from '../../../jobs/rules/datasets/signature.ts'
import { findNear } from '../../../workers/datasets/find-near.ts'
import { openRowList } from '../../../workers/datasets/row-list.ts'
import { countLeaks, settleRows } from '../../../workers/datasets/settle-rows.ts'
import { openSignatureFile } from '../../../workers/datasets/signature-file.ts'
import { openDuck } from '../../../workers/runtime/duckdb.ts'
import { openTexts } from '../../../ops/bench/near-texts.ts'

const split = { train: 0.5, test: 0.5 }
const recipe = completeRecipe('sft', null, { split })

t.test('a version that has two near rows in two splits is refused', async (t) => {
  const { list, folder } = await openList(t, 2)
  const run = { signal: new AbortController().signal }
  const find = () => findNear({ list, folder, run, onProgress: () => undefined }, 'other_split')
  const dropped: unknown[] = []
  const drop = (reason: string, count: number) => count > 0 && dropped.push([reason, count])
  await settleRows(list.connection, recipe, drop as never, find)
  t.same(dropped, [['split.near_duplicate', 1]])
  t.equal(await countLeaks(list.connection, recipe), 0)
  // The row that was left out comes back, as if a later step had chosen it.
  await list.connection.run(`delete from gone; delete from chosen;
    insert into chosen (index, trace_index, hash, split_index)
    select index, trace_index, hash, split_index from left_rows`)
  t.equal(await countLeaks(list.connection, recipe), 1)
})

t.test('a search ends with its build', async (t) => {
  const { list, folder } = await openList(t, 3000)
  const ending = new AbortController()
  const onProgress = () => ending.abort('canceled')
  const ended = findNear({ list, folder, run: { signal: ending.signal }, onProgress }, 'any')
  t.equal(await ended.catch((reason: unknown) => reason), 'canceled')
  t.equal((await list.connection.runAndReadAll('select 1 from near')).currentRowCount, 0)
  const early = findNear(
    { list, folder, run: { signal: AbortSignal.abort('before') }, onProgress },
    'any',
  )
  t.equal(await early.catch((reason: unknown) => reason), 'before')
})

t.test('a search that fails says why', async (t) => {
  const { list, folder } = await openList(t, 3)
  await rm(join(folder, 'signatures'))
  const run = { signal: new AbortController().signal }
  await t.rejects(findNear({ list, folder, run, onProgress: () => undefined }, 'any'), /ENOENT/)
})

/** Rows that are all near to the first one, by turns in train and test. */
async function openList(t: Test, count: number) {
  const folder = await mkdtemp(join(tmpdir(), 'near-'))
  const duck = await openDuck(folder, new AbortController().signal)
  t.teardown(async () => {
    await duck.close()
    await rm(folder, { recursive: true })
  })
  const list = await openRowList(duck)
  const { text } = openTexts(1)
  const sign = openSigner()
  const said = text(100)
  const signatures = openSignatureFile(folder)
  await list.connection.run(
    `insert into traces (index, trace_id) select range, 't-' || range from range(${count})`,
  )
  for (let n = 0; n < count; n++) {
    list.addRow({
      traceIndex: n,
      rejectedIndex: null,
      lengthRatio: null,
      splitIndex: n % 2 === 0 ? 0 : 2,
      hash: Buffer.from(`${n}`),
      tokens: 1,
      messages: 2,
      spanId: null,
      shard: 0,
      byteOffset: n,
      length: 1,
      rareMembers: all(RARE_MEMBERS, false),
      losses: all(LOSSES, 0),
      redactions: [],
    })
    signatures.add(sign([`${said} ${n}`]))
  }
  list.flush()
  signatures.close()
  return { list, folder }
}

function all<Name extends string, T>(names: readonly Name[], value: T) {
  return Object.fromEntries(names.map((name) => [name, value])) as Record<Name, T>
}
