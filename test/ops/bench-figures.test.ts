import t from 'tap'
import { readFigures, report } from '../../ops/bench/figures.ts'
import { addMeasured } from '../../ops/bench/measured-table.ts'
import { readPart, readTable, table } from '../../ops/docs/parts.ts'

const DOCUMENT = `# Title

<!-- measured -->

${table(
  ['what', 'ratio', 'figures', 'measured'],
  [
    ['reading', '0.5', '1 against 2', 'long ago'],
    ['writing', '', '3 a | b', 'long ago'],
  ],
)}

<!-- /measured -->

behind
`

t.test('figures are found among the other lines of a bench', async (t) => {
  const figures = [
    { what: 'reading', ratio: 0.6, figures: '3 against 5' },
    { what: 'waiting', ratio: null, figures: '' },
  ]
  const captured = t.capture(process.stdout, 'write')
  report(...figures)
  const lines = captured().map(({ args }) => String(args[0]))
  captured.restore()
  t.strictSame(readFigures(['| a table |\n', ...lines, 'the end\n'].join('')), figures)
})

t.test('a measured figure takes the place of its row, and the other rows stay', async (t) => {
  const figures = [
    { what: 'reading', ratio: 0.6, figures: '3 against 5' },
    { what: 'waiting', ratio: null, figures: '7 ms' },
  ]
  const document = addMeasured(DOCUMENT, figures, 'today')
  t.strictSame(readTable(readPart(document, 'measured')), [
    ['reading', '0.6', '3 against 5', 'today'],
    ['writing', '', '3 a | b', 'long ago'],
    ['waiting', '', '7 ms', 'today'],
  ])
  t.ok(document.startsWith('# Title\n'))
  t.ok(document.endsWith('\nbehind\n'))
  t.equal(addMeasured(document, figures, 'today'), document, 'twice is once')
})

t.test('a document without the table is refused', async (t) => {
  t.throws(() => addMeasured('# Title', [], 'today'), { message: /There is no <!-- measured -->/ })
})
