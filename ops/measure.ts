// Prints figures about the source code: node ops/measure.ts [checkout] [--json]
//
// The source code is every .ts and .mjs file in the six folders of a checkout, by default the current
// folder. A function is one with a body in braces. Its lines run from its first to its last, so those
// of a function inside it count for both: a closure of 100 lines has to be understood as a whole. The
// figures of a folder look at its files alone: a cycle or duplicate across two folders counts only in
// the total. The types in ops/measure/ say what counts as an export, a cast, a comment and a duplicate.
import { parseArgs } from 'node:util'
import type { Duplicate } from './measure/duplicates.ts'
import { figuresOf, LONG_FUNCTION_LINES } from './measure/figures.ts'
import type { Figures } from './measure/figures.ts'
import { FOLDERS, readSources } from './measure/source.ts'

/** How many the text shows of each list; JSON has all. */
const LISTED_DUPLICATES = 20

function main() {
  const { values, positionals } = parseArgs({
    options: { json: { type: 'boolean', default: false } },
    allowPositionals: true,
  })
  const figures = measure(positionals[0] ?? '.')
  process.stdout.write(`${values.json ? JSON.stringify(figures, null, 2) : render(figures)}\n`)
}

function measure(root: string) {
  const sources = readSources(root)
  if (sources.length === 0) throw new Error(`${root} has no source files`)
  const inside = (folder: string) => sources.filter(({ path }) => path.startsWith(`${folder}/`))
  return {
    folders: Object.fromEntries(FOLDERS.map((folder) => [folder, figuresOf(inside(folder))])),
    total: figuresOf(sources),
    outsideTest: figuresOf(sources.filter(({ path }) => !path.startsWith('test/'))),
  }
}

function render({ folders, total, outsideTest }: ReturnType<typeof measure>) {
  const scopes = Object.entries({ ...folders, total, 'outside test/': outsideTest })
  const rows = ROWS.map(([name, read]) => [name, ...scopes.map(([, each]) => String(read(each)))])
  return [
    ...alignColumns([['', ...scopes.map(([name]) => name)], ...rows]),
    ...renderList(
      'Longest file',
      scopes.map(([name, { files }]) => `${name}: ${files.maxAt} ${files.max}`),
    ),
    ...renderList(
      'Longest function',
      scopes.map(([name, { functions }]) => `${name}: ${functions.maxAt} ${functions.max}`),
    ),
    ...renderList(
      `Functions over ${LONG_FUNCTION_LINES} lines outside test/ and ops/bench/`,
      outsideTest.longFunctions.map(({ place, name, lines }) => `${place} ${name} ${lines}`),
    ),
    ...renderList(
      'Import cycles',
      total.cycles.map((paths) => paths.join(' -> ')),
    ),
    ...renderList('Longest duplicates outside test/', renderDuplicates(outsideTest.duplicates)),
    ...renderList(
      'Longest duplicates, those in test/ included',
      renderDuplicates(total.duplicates),
    ),
  ].join('\n')
}

/** Names to the left, figures to the right. */
function alignColumns(rows: readonly string[][]) {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows.map(([name = '', ...figures]) =>
    [
      name.padEnd(widths[0] ?? 0),
      ...figures.map((figure, i) => figure.padStart(widths[i + 1] ?? 0)),
    ].join('  '),
  )
}

function renderDuplicates(duplicates: readonly Duplicate[]) {
  return duplicates
    .slice(0, LISTED_DUPLICATES)
    .map(({ lines, places }) => `${places.join(' = ')} ${lines}`)
}

function renderList(title: string, lines: readonly string[]) {
  return ['', `${title}:`, ...(lines.length > 0 ? lines : ['none']).map((line) => `  ${line}`)]
}

const ROWS: readonly (readonly [string, (figures: Figures) => number | string])[] = [
  ['files', ({ files }) => files.count],
  ['  lines p50', ({ files }) => files.p50],
  ['  lines p90', ({ files }) => files.p90],
  ['  lines max', ({ files }) => files.max],
  ['functions', ({ functions }) => functions.count],
  ['  lines p50', ({ functions }) => functions.p50],
  ['  lines p90', ({ functions }) => functions.p90],
  ['  lines max', ({ functions }) => functions.max],
  [
    `  over ${LONG_FUNCTION_LINES} lines outside ops/bench/`,
    ({ longFunctions }) => longFunctions.length,
  ],
  ['exports a file p50', ({ exports }) => exports.p50],
  ['exports a file p90', ({ exports }) => exports.p90],
  ['exports a file max', ({ exports }) => exports.max],
  ['import cycles', ({ cycles }) => cycles.length],
  ['casts', ({ casts }) => casts],
  ['duplicated blocks', ({ duplicates }) => duplicates.length],
  ['duplicated lines', ({ duplicatedLines }) => duplicatedLines],
  ['comment share', ({ commentShare }) => `${(commentShare * 100).toFixed(1)}%`],
]

main()
