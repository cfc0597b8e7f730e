import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

t.test('the fault table names every fault with a test that is there', async (t) => {
  const text = readFileSync('ops/docs/reliability.md', 'utf8')
  const rows = [...text.matchAll(/^\| (F\d+) .*?\| `(test\/[\w./-]+)`: (.*?) +\|/gm)]
  t.same(
    rows.map(([, fault]) => fault),
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27].map(
      (n) => `F${n}`,
    ),
  )
  for (const [, fault, file = '', title = ''] of rows) {
    if (!existsSync(file)) t.fail(`${fault}: ${file} is not there`)
    else t.ok(readFileSync(file, 'utf8').includes(`'${title}'`), `${fault}: ${file}: ${title}`)
  }
})
