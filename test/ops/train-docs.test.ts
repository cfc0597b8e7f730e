import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDocumented, splitObjects } from '../support/documented-commands.ts'

t.test('what the document on training shows leads from traces to files', async (t) => {
  const { folder, runShell } = await openDocumented(t, 'train.md')
  const [imported, built, shown, , paired] = await runShell()
  t.match(splitObjects(imported), [{ imported_count: 3, scores_imported: 3 }])
  const [version] = splitObjects(built)
  t.match(version, { status: 'ready', row_count: 2, split_counts: { train: 1, test: 1 } })
  t.match(splitObjects(shown), [{ total: 2, rows: [{ split: 'train', messages: [] }] }])
  t.match(splitObjects(paired), [
    { status: 'ready', row_count: 1 },
    { status: 'ready', row_count: 3 },
  ])

  const read = (name: string) => readFileSync(join(folder, name), 'utf8')
  const lines = (name: string) =>
    read(name)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
  t.equal(lines('sft.jsonl').length, 2)
  for (const name of ['sft/train', 'sft/test', 'dpo/train', 'kto/train']) {
    t.match(read(`${name}.parquet`), /^PAR1/)
  }
  const [chat] = lines('openai-sft.jsonl')
  t.same(Object.keys(chat), ['messages', 'tools'])
  const [preferred] = lines('openai-dpo.jsonl')
  t.same(Object.keys(preferred), ['input', 'preferred_output', 'non_preferred_output'])
})
