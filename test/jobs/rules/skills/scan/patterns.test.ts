import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parseSync, Visitor } from 'oxc-parser'

const SCAN = new URL('../../../../../jobs/rules/skills/scan/', import.meta.url)

/** An unbounded repetition that nothing within what it matched begins anew, so that it stays linear. */
const LINEAR = new Set([
  // Anchored, with nothing before or behind it that takes the same characters.
  String.raw`^[\0-\x7f]*$`,
  '^ {0,3}(`{3,}|~{3,})([^\\n]*)',
  // A match takes the whole run, and fewer than 32 characters are tried in vain.
  '[0-9A-Za-z+/_-]{32,}={0,2}',
  // Whatever it begins with is a match.
  String.raw`[a-z]+|[A-Z]+|\d+|[^A-Za-z\d]+`,
])

/** A pattern without escapes and what stands in brackets. */
const withoutClasses = (pattern: string) => pattern.replace(/\\./g, '_').replace(/\[[^\]]*\]/g, '_')
const UNBOUNDED = /[+*]|\{\d+,\}/

t.test('no pattern of a scan repeats without an upper bound', async (t) => {
  const patterns = globSync('*.ts', { cwd: SCAN }).flatMap((file) =>
    patternsOf(file, readFileSync(new URL(file, SCAN), 'utf8')),
  )
  t.ok(patterns.length > 80, `${patterns.length} patterns`)
  const unbounded = patterns.filter((pattern) => UNBOUNDED.test(withoutClasses(pattern)))
  t.same(new Set(unbounded), LINEAR)
})

t.test('repetition without a bound is seen wherever a pattern is written', async (t) => {
  for (const planted of ['/a+/', '/a*/', '/a{3,}/', '/[+*]a+/', '/(?:a|b)*/'])
    t.match(withoutClasses(onlyPattern(planted)), UNBOUNDED, planted)
  for (const planted of ['String.raw`\\s*b`', 'new RegExp(`(?:${a})*`)', "new RegExp('a+')"])
    t.match(withoutClasses(onlyPattern(planted)), UNBOUNDED, planted)
  for (const bounded of ['/a\\+\\*/', '/[+*]/', '/a{3,4}/', '/a?/', 'String.raw`[+${a}*]`'])
    t.notMatch(withoutClasses(onlyPattern(bounded)), UNBOUNDED, bounded)
})

/** The expressions of a source file, and the texts that expressions are put together of. */
function patternsOf(file: string, text: string) {
  const patterns: string[] = []
  new Visitor({
    Literal(node) {
      if ('regex' in node) patterns.push(node.regex.pattern)
    },
    TaggedTemplateExpression: ({ quasi }) => void patterns.push(textOf(quasi)),
    NewExpression({ arguments: [first] }) {
      if (first?.type === 'TemplateLiteral') patterns.push(textOf(first))
      if (first?.type === 'Literal') patterns.push(String(first.value))
    },
  }).visit(parseSync(file, text).program)
  return patterns
}

function textOf({ quasis }: { readonly quasis: readonly { value: { raw: string } }[] }) {
  return quasis.map(({ value }) => value.raw).join('_')
}

const onlyPattern = (source: string) => patternsOf('planted.ts', source)[0] ?? ''
