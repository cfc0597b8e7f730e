import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { CONTAINERS } from '../../jobs/rules/import/container.ts'
import { FORMAT_NAMES } from '../../jobs/rules/import/detect.ts'
import { LOSS_CODES } from '../../jobs/rules/import/format.ts'
import { openDocumented, splitObjects } from '../support/documented-commands.ts'

const text = readFileSync('ops/docs/import.md', 'utf8')

t.test('the commands of the document on imports lead from an export to traces', async (t) => {
  const { runShell } = await openDocumented(t, 'import.md')
  const [tried, stored, archived, bad, exported, restored] = (await runShell()).map(splitObjects)
  t.match(tried, [{ status: 'succeeded', dry_run: true, imported_count: 1, error_count: 0 }])
  const [imported, trace] = stored ?? []
  t.match(imported, { status: 'succeeded', imported_count: 1, skipped_count: 0, losses: {} })
  t.match(trace, {
    trace_id: 'parcel-1',
    agent_name: 'parcel-desk',
    session_id: 's-9',
    user_id: 'ann',
    tags: ['parcels'],
    llm_calls: [
      {
        model_name: 'gpt-4o-mini',
        rendered_input: [{ role: 'user', content: 'Where is parcel 17?' }],
        output: { content: 'It is in Utrecht.' },
        input_tokens: 40,
        output_tokens: 12,
        cost_usd: 0.0004,
      },
    ],
  })
  t.match(archived, [
    {
      status: 'succeeded',
      imported_count: 1,
      skipped_count: 1,
      scores_imported: 1,
      error_count: 0,
      losses: { entries_skipped: 1 },
    },
  ])
  t.match(bad, [
    {
      errors: [
        { line: 2, code: 'invalid_record' },
        { line: 3, code: 'unknown_format' },
      ],
    },
  ])
  const counts = { trace: 3 }
  t.match(exported, [
    { kind: 'backup', format: 1 },
    { kind: 'end', counts, sha256: /^[0-9a-f]{64}$/ },
    { status: 'succeeded', source: 'backup', dry_run: true, imported_count: 3 },
  ])
  const [cut, whole] = restored ?? []
  t.match(cut, { status: 'failed', error: { code: 'incomplete_backup' } })
  t.match(whole, { state: 'succeeded', result: { skipped_count: Number, restored: Object } })
})

t.test('the document on imports explains every word that an import knows', async (t) => {
  const losses = [
    ...LOSS_CODES,
    'invalid_score',
    'unknown_manifest',
    'metadata_cut',
    'entries_skipped',
  ]
  const refusals = refusalCodes().filter((code) => !losses.includes(code))
  t.ok(refusals.length > 30, `${refusals.length} codes of refusals`)
  const words = [...FORMAT_NAMES, ...CONTAINERS, ...losses, ...refusals]
  t.same(
    words.filter((word) => !text.includes(`\`${word}\``)),
    [],
  )
  t.same(codesIn('What is lost').sort(), losses.sort(), 'and no others')
  t.same(codesIn('What is refused').sort(), refusals.sort(), 'and no others')
})

/** Codes that the sources of an import give records and files. Kinds of a backup's lines give none. */
function refusalCodes() {
  const sources = globSync(
    ['jobs/rules/import/**/*.ts', 'jobs/import-cursor.ts', 'workers/import/**/*.ts'],
    {
      exclude: ['jobs/rules/import/backup/*-kinds.ts'],
    },
  )
  const given = sources.flatMap((file) => {
    const codes = file.includes('/pull') ? GIVEN_BY_PULLS : GIVEN
    return [...readFileSync(file, 'utf8').matchAll(codes)]
  })
  return [...new Set(given.map(([, code]) => code as string))]
}

/** Those of the first column of the tables under a heading. */
function codesIn(heading: string) {
  const section = text.split(`## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const cells = [...section.matchAll(/^\| (`[^|]*)\|/gm)].map(([, cell]) => cell as string)
  return cells.flatMap((cell) => [...cell.matchAll(/`(\w+)`/g)].map(([, code]) => code as string))
}

const GIVEN = /(?:\bcode: |(?:UploadFault|GiveUp|found\.fault)\(\s*)'([a-z_\d]+)'/g
const GIVEN_BY_PULLS = /'(source_[a-z_]+)'/g
