import t from 'tap'
import { canonicalJson } from '../../../../jobs/rules/core/canonical-json.ts'
import fc from '../../../support/property.ts'

t.test('canonical JSON', async (t) => {
  t.test('sorts members by UTF-16 code units and writes numbers as RFC 8785 does', async (t) => {
    t.equal(
      canonicalJson({
        b: [1e21, 0.1, -0, 1.0],
        a: null,
        '\u20ac': 1,
        '\ud83d\ude00': 2,
        '\ufb13': 3,
      }),
      '{"a":null,"b":[1e+21,0.1,0,1],"€":1,"😀":2,"\ufb13":3}',
    )
    t.equal(canonicalJson('\u0000\u001f"\\\n'), '"\\u0000\\u001f\\"\\\\\\n"')
  })

  t.test('does not depend on the order of members', async (t) => {
    fc.assert(
      fc.property(
        fc.jsonValue(),
        (value) => canonicalJson(reversed(value)) === canonicalJson(value),
      ),
    )
    t.pass()
  })

  t.test('is JSON of an equal value', async (t) => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const text = canonicalJson(value)
        return canonicalJson(JSON.parse(text)) === text
      }),
    )
    t.pass()
  })

  t.test('composes accents in values and in names', async (t) => {
    t.equal(canonicalJson({ 'cafe\u0301': 'e\u0301' }), canonicalJson({ 'caf\u00e9': '\u00e9' }))
  })

  t.test('refuses what has no canonical text', async (t) => {
    const cycle: unknown[] = []
    cycle.push(cycle)
    const refused = [NaN, [Infinity], { a: '\ud800' }, { '\udc00': 1 }, undefined, cycle]
    for (const value of refused) t.throws(() => canonicalJson(value), Error)
    t.throws(() => canonicalJson({ 'e\u0301': 1, '\u00e9': 2 }), /two members of one name/)
  })

  t.test('keeps members that are named like parts of objects', async (t) => {
    t.equal(canonicalJson(JSON.parse('{"__proto__":1,"a":2}')), '{"__proto__":1,"a":2}')
  })
})

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([name, member]) => [name, reversed(member)]),
  )
}
