import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'

t.test('every test that the security review names is there', async (t) => {
  const review = readFileSync('ops/docs/security.md', 'utf8')
  const named = [...review.matchAll(/\| `(test\/[\w./-]+)`: (.*?) *\|$/gm)]
  t.ok(named.length > 40, `${named.length} threats`)
  for (const [, file = '', title = ''] of named) {
    if (!existsSync(file)) t.fail(`${file} is not there`)
    else t.ok(titlesOf(file).includes(title), `${file}: ${title}`)
  }
})

/** The file's text on one line, in which a title may have been broken or quoted either way. */
function titlesOf(file: string) {
  return readFileSync(file, 'utf8').replaceAll(/\s+/g, ' ')
}
