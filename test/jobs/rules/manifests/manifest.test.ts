import t from 'tap'
import { readComponents } from '../../../../jobs/rules/manifests/manifest-components.ts'
import {
  contentHash,
  contractHash,
  manifestHash,
  readHash,
} from '../../../../jobs/rules/manifests/manifest-hash.ts'
import { activatesAtOnce } from '../../../../jobs/rules/manifests/manifest-registration.ts'
import type { Fault } from '../../../../jobs/rules/core/reader.ts'
import { component, manifests } from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'

t.test('components of a registration', async (t) => {
  const read = (value: unknown) => {
    const faults: Fault[] = []
    return { components: readComponents(value, faults), faults: faults.map(({ field }) => field) }
  }

  t.test('are read under their long and their short names, a text as content', async (t) => {
    const { components, faults } = read([
      { type: 'tool', name: 'b', version: 2, content: { parameters: { type: 'object' } } },
      { component_type: 'output_schema', component_name: 'out', content_hash: 'abc' },
      { type: 'prompt', name: 'system', content: 'You help.' },
    ])
    t.same(faults, [])
    t.match(components, [
      {
        component_type: 'output_contract',
        component_name: 'out',
        content_hash: 'abc',
        schema_json: {},
      },
      { component_type: 'prompt', schema_json: { content: 'You help.' } },
      { component_type: 'tool', component_version: '2', content_hash: /^sha256:[0-9a-f]{64}$/ },
    ])
  })

  t.test('told twice are one, and two different ones of a name are refused', async (t) => {
    const tool = { type: 'tool', name: 'a', content: { x: 1 } }
    t.equal(read([tool, { ...tool }]).components.length, 1)
    t.same(read([tool, { ...tool, content: { x: 2 } }]).faults, ['components'])
  })

  t.test('have limits of number and size, and every fault is named', async (t) => {
    const big = { type: 'tool', name: 'a', content: { text: 'x'.repeat(65_536) } }
    t.same(read([big]).faults, ['components.0.schema_json'])
    const many = Array.from({ length: 501 }, (_, i) => ({ type: 'tool', name: `t${i}` }))
    t.same(read(many).faults, ['components'])
    const heavy = Array.from({ length: 17 }, (_, i) => ({
      type: 'tool',
      name: `t${i}`,
      content: { text: 'x'.repeat(65_000) },
    }))
    t.same(read(heavy).faults, ['components'])
    t.same(
      read([{ type: 'cog' }, 1, { type: 'tool', name: 'a', content: { t: '\ud800' } }]).faults,
      [
        'components.0.type',
        'components.0.component_name',
        'components.1',
        'components.2.schema_json',
      ],
    )
  })
})

t.test('a registration activates what it asks for, else a first or older version', async (t) => {
  const states = ['first', 'new', 'draft', 'active', 'superseded'] as const
  const activated = (activate: boolean | null, is_draft: boolean) =>
    states.filter((state) => activatesAtOnce({ activate, is_draft }, state))
  t.same(activated(null, false), ['first', 'superseded'])
  t.same(activated(null, true), [])
  t.same(activated(false, false), [])
  t.same(activated(true, true), ['first', 'new', 'draft', 'superseded'])
})

t.test('hashes of a manifest', async (t) => {
  t.test('do not depend on the order of components or members', async (t) => {
    fc.assert(
      fc.property(manifests(), ({ components }) => {
        const shuffled = [...components].reverse()
        t.equal(manifestHash(shuffled), manifestHash(components))
        t.equal(contractHash(shuffled), contractHash(components))
      }),
    )
  })

  t.test('identify tools and models only; the contract hash covers everything', async (t) => {
    const tool = component('tool', 'search', { parameters: { type: 'object' } })
    const [before, after] = [
      component('prompt', 'system', { text: 'a' }),
      component('prompt', 'system', { text: 'b' }),
    ]
    t.equal(manifestHash([tool, before]), manifestHash([tool, after]))
    t.not(contractHash([tool, before]), contractHash([tool, after]))
    t.not(manifestHash([tool]), manifestHash([component('tool', 'search', {})]))
  })

  t.test('of a model leave out how it is called', async (t) => {
    const model = (settings: object) =>
      contentHash({ component_type: 'model', schema_json: { model: 'gpt-4o', ...settings } })
    t.equal(model({ temperature: 0.71, timeout: 30, max_retries: 3 }), model({ temperature: 0.7 }))
    t.equal(model({ top_p: 0.91, nested: { batch_size: 4 } }), model({ top_p: 0.9, nested: {} }))
    t.not(model({ temperature: 0.8 }), model({ temperature: 0.7 }))
    const tool = (schema: object) =>
      contentHash({ component_type: 'tool', schema_json: { properties: schema } })
    t.not(tool({ timeout: {} }), tool({}), 'a parameter of that name counts')
  })

  t.test('is SHA-256 over the canonical list', async (t) => {
    const bare = { component_version: null, content_hash: 'h', schema_json: {} }
    const components = [{ ...bare, component_type: 'tool' as const, component_name: 'a' }]
    // printf '[["tool","a",null,"h"]]' | sha256sum
    t.equal(
      manifestHash(components),
      'sha256:0111212e98e4e45948f43668ce614aed05f8b0ca52159e695da88eca7cb5c2c1',
    )
  })

  t.test('of a client are read with and without their prefix', async (t) => {
    const digits = 'Ab'.repeat(32)
    t.equal(readHash(digits), `sha256:${digits.toLowerCase()}`)
    t.equal(readHash(`sha256:${digits}`), readHash(digits))
    for (const wrong of ['', 'ab', `${digits}0`, `md5:${digits}`])
      t.equal(readHash(wrong), undefined)
  })
})
