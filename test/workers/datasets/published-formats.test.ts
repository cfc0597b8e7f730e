import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { parquetMetadata, parquetSchema } from 'hyparquet'
import t from 'tap'
import type { Test } from 'tap'
import type { DatasetType, RowFormat } from '../../../jobs/rules/datasets/recipe.ts'
import { buildDataset, openDatasetService, pathOf, readJsonl } from '../../support/built-dataset.ts'
import type { Row } from '../../support/built-dataset.ts'
import {
  OPENAI_CHAT,
  OPENAI_PREFERENCE,
  openCheck,
  SHAREGPT,
  TRL,
} from '../../support/published-formats.ts'
import { TRAINABLE } from '../../support/trainable-traces.ts'

t.test('every row has the published form of its format', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const { api, key } = await openOrganization(TRAINABLE)
  const columns = readColumns()
  async function build(type: DatasetType, format: RowFormat) {
    const options = { format, reasoning: 'keep', dedupe: 'none' }
    const version = await buildDataset(api, type, { options })
    const rows = await readJsonl(api, version)
    t.equal(rows.length, ROWS[type][format], `${type} ${format}`)
    const { rawPayload } = await service.server.inject({
      url: `/api/v1${pathOf(version)}/export?format=parquet`,
      headers: { authorization: `Bearer ${key}` },
    })
    const named = columns.get(`${type} ${format}`)
    t.same(
      parquetColumns(rawPayload as Uint8Array),
      named,
      `the document names the columns of ${type} ${format}`,
    )
    for (const row of rows) t.same(Object.keys(row).sort(), named?.toSorted())
    return rows
  }
  const whole = await build('sft', 'openai')
  for (const row of whole) t.not(openCheck(OPENAI_CHAT)(row), '', 'a row says more than a file')
  const chat = openaiFile(whole)
  requireForm(t, chat, OPENAI_CHAT)
  t.match(
    chat.find((example) => JSON.stringify(example).includes('bad')),
    {
      messages: [{}, { content: 'bad', weight: 0 }, {}, { content: 'good', weight: 1 }],
    },
  )
  requireForm(t, openaiFile(await build('dpo', 'openai')), OPENAI_PREFERENCE)
  for (const type of ['sft', 'dpo', 'kto'] as const)
    requireForm(t, await build(type, 'trl'), TRL[type])
  requireForm(t, await build('sft', 'sharegpt'), SHAREGPT)
  const single = await build('kto', 'openai')
  t.match(runOpenaiFile(linesOf(single)), {
    status: 1,
    stderr: /^Line 1 is no row of type sft or dpo/,
  })
  const objects = (await build('sft', 'trl')).filter(({ tools }) => tools.length > 0)
  t.match(runOpenaiFile(linesOf(objects)), {
    status: 1,
    stderr: /^Line 1 has arguments that are no/,
  })
})

t.test('a line that is no JSON is named', async (t) => {
  const ended = runOpenaiFile('\n{"messages":[]}\n{')
  t.match(ended, { status: 1, stdout: '{"messages":[]}\n', stderr: 'Line 3 is no JSON\n' })
})

/** How many rows the traces give; only the format openai has images. */
const ROWS = {
  sft: { openai: 11, trl: 10, sharegpt: 9 },
  dpo: { openai: 2, trl: 2, sharegpt: 0 },
  kto: { openai: 14, trl: 13, sharegpt: 0 },
}

function requireForm(t: Test, rows: readonly object[], schema: object) {
  const check = openCheck(schema)
  for (const row of rows) t.equal(check(row), '', JSON.stringify(row))
}

function openaiFile(rows: readonly Row[]) {
  const { stdout, stderr } = runOpenaiFile(linesOf(rows))
  if (stderr !== '') throw new Error(stderr)
  const lines = stdout.split('\n').slice(0, -1)
  return lines.map((line) => JSON.parse(line) as object)
}

function linesOf(rows: readonly Row[]) {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}

function runOpenaiFile(input: string) {
  return spawnSync(process.execPath, ['ops/openai-file.ts'], { input, encoding: 'utf8' })
}

function parquetColumns(bytes: Uint8Array) {
  const { children } = parquetSchema(parquetMetadata(Uint8Array.from(bytes).buffer))
  return children.map(({ element }) => element.name)
}

/** The columns that a table of the document on training names, by type and format. */
function readColumns() {
  const document = readFileSync('ops/docs/train.md', 'utf8')
  const rows = document.matchAll(/^\| `(sft|dpo|kto)` +\| (.*?) +\| (.*?) +\|$/gm)
  return new Map(
    [...rows].flatMap(([, type, formats = '', columns = '']) =>
      namesIn(formats).map((format) => [`${type} ${format}`, namesIn(columns)] as const),
    ),
  )
}

function namesIn(cell: string) {
  return [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name as string)
}
