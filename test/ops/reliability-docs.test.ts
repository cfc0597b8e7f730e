import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

t.test('the fault table names every fault with a test that is there', async (t) => {
  const text = readFileSync('ops/docs/reliability.md', 'utf8')
  const rows = [...text.matchAll(/^\| (F\d+) .*?\| `(test\/[\w./-]+)`: (.*?) +\|/gm)]
  const numbers = Array.from({ length: 29 }, (_, i) => i + 1).filter((n) => n !== 15 && n !== 17)
  t.same(
    [...new Set(rows.map(([, fault]) => fault))],
    numbers.map((n) => `F${n}`),
  )
  for (const [, fault, file = '', title = ''] of rows) {
    if (!existsSync(file)) t.fail(`${fault}: ${file} is not there`)
    else t.ok(readFileSync(file, 'utf8').includes(`'${title}'`), `${fault}: ${file}: ${title}`)
  }
})
