import t from 'tap'
import { compareSchemas, relationOf } from '../../../../jobs/rules/manifests/schema-change.ts'
import { schemaCompiler } from '../../../../workers/examination/schema-compiler.ts'
import { schemas } from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'

const object = (properties: object, more: object = {}) => ({ type: 'object', properties, ...more })
const string = { type: 'string' }

t.test('the relation of two schemas', async (t) => {
  const cases: [title: string, before: object, after: object, args: string, output: string][] = [
    ['the same', object({ a: string }), object({ a: { ...string, title: 'A' } }), 'equal', 'equal'],
    [
      'a new required parameter, with a default too',
      object({}, { additionalProperties: false }),
      object({ a: { ...string, default: 'x' } }, { required: ['a'], additionalProperties: false }),
      'breaking',
      'breaking',
    ],
    ['a requirement relaxed', { required: ['a'] }, {}, 'compatible', 'breaking'],
    [
      'an optional parameter on a closed object',
      object({}, { additionalProperties: false }),
      object({ a: string }, { additionalProperties: false }),
      'compatible',
      'breaking',
    ],
    [
      'an optional parameter on an open object',
      object({}),
      object({ a: string }),
      'possibly_breaking',
      'compatible',
    ],
    [
      'a parameter removed from a closed object',
      object({ a: string }, { additionalProperties: false }),
      object({}, { additionalProperties: false }),
      'breaking',
      'compatible',
    ],
    [
      'a parameter removed from an open object',
      object({ a: string }),
      object({}),
      'compatible',
      'possibly_breaking',
    ],
    ['a type narrowed', { type: 'number' }, { type: 'integer' }, 'breaking', 'compatible'],
    ['a type widened', { type: 'string' }, { type: ['string', 'null'] }, 'compatible', 'breaking'],
    ['an enum value removed', { enum: ['a', 'b'] }, { enum: ['a'] }, 'breaking', 'compatible'],
    ['an enum extended', { enum: ['a'] }, { enum: ['a', 'b'] }, 'compatible', 'breaking'],
    ['an upper bound tightened', { maximum: 99 }, { maximum: 50 }, 'breaking', 'compatible'],
    ['a lower bound loosened', { minLength: 3 }, { minLength: 1 }, 'compatible', 'breaking'],
    ['a pattern added', {}, { pattern: '^a' }, 'breaking', 'compatible'],
    ['a format added', {}, { format: 'uri' }, 'breaking', 'compatible'],
    [
      'items restricted',
      { type: 'array' },
      { type: 'array', items: string },
      'breaking',
      'compatible',
    ],
    [
      'a choice changed',
      { oneOf: [string] },
      { oneOf: [string, {}] },
      'incomparable',
      'incomparable',
    ],
    [
      'a choice that stayed',
      { oneOf: [string], minLength: 1 },
      { oneOf: [string] },
      'compatible',
      'breaking',
    ],
  ]
  for (const [title, before, after, args, output] of cases) {
    t.test(title, async (t) => {
      const changes = compareSchemas(before as never, after as never)
      t.equal(relationOf(changes, 'arguments'), args, 'of arguments')
      t.equal(relationOf(changes, 'output'), output, 'of an output')
    })
  }

  t.test('says where', async (t) => {
    const before = object({ order: object({ 'a/b': { type: 'integer' } }) })
    const after = object({ order: object({ 'a/b': string }) })
    t.match(compareSchemas(before, after), [
      { path: '/order/a~1b', change: 'type_narrowed' },
      { path: '/order/a~1b', change: 'type_widened' },
    ])
  })

  t.test('never calls a change compatible that refuses an accepted value', async (t) => {
    const values = fc.dictionary(
      fc.constantFrom('p', 'q', 'r', 's'),
      fc.oneof(fc.constantFrom('usd', 'x'), fc.integer({ min: 0, max: 12 }), fc.boolean()),
    )
    const compile = schemaCompiler()
    fc.assert(
      fc.property(schemas(), schemas(), values, (before, after, value) => {
        const relation = relationOf(compareSchemas(before, after), 'arguments')
        if (relation !== 'compatible' && relation !== 'equal') return
        const accepted = compile(before)(value)?.length === 0
        if (accepted) t.same(compile(after)(value), [], JSON.stringify({ before, after, value }))
      }),
      { numRuns: 2000 },
    )
  })
})
