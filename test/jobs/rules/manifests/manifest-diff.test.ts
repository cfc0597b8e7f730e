import t from 'tap'
import { diffManifests, worstSeverity } from '../../../../jobs/rules/manifests/manifest-diff.ts'
import type { Component, ComponentType } from '../../../../jobs/rules/manifests/manifest.ts'
import { component, manifest, manifests, tool } from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'

const string = { type: 'string' }
const diff = (before: Component[], after: Component[]) =>
  diffManifests(manifest(...before), manifest(...after))

t.test('the difference of two manifests', async (t) => {
  t.test('of a manifest and itself is empty', async (t) => {
    fc.assert(fc.property(manifests(), (m) => t.same(diffManifests(m, m), [])))
  })

  t.test('does not depend on the order of components', async (t) => {
    fc.assert(
      fc.property(manifests(), manifests(), (a, b) => {
        const turned = ({ components }: typeof a) => manifest(...[...components].reverse())
        t.same(diffManifests(turned(a), turned(b)), diffManifests(a, b))
      }),
    )
  })

  t.test('names what is added and removed, with its severity', async (t) => {
    const kinds = [
      tool('t', { a: string }),
      component('prompt', 'p', { text: 'hello' }),
      component('skill', 's', { text: 'skill' }),
      component('subagent', 'agent', {}),
      component('guardrail', 'g', {}),
    ]
    t.match(diff([], kinds), [
      { surface: 'guardrail:g', change_type: 'component_changed', severity: 'minor' },
      { surface: 'prompt:p', severity: 'moderate' },
      { surface: 'skill:s', change_type: 'skill_added', severity: 'minor', breaking: false },
      { surface: 'subagent:agent', change_type: 'subagent_added', severity: 'moderate' },
      { surface: 'tool:t', change_type: 'tool_added', severity: 'minor', breaking: false },
    ])
    t.match(diff(kinds, []).slice(2), [
      { change_type: 'skill_removed', severity: 'moderate', breaking: true },
      { change_type: 'subagent_removed', severity: 'major', breaking: true },
      { change_type: 'tool_removed', severity: 'major', breaking: true },
    ])
    t.equal(worstSeverity(diff(kinds, [])), 'major')
  })

  t.test('of documentation only affects nothing', async (t) => {
    const before = tool('search', { q: { ...string, description: 'a' } })
    const after = tool('search', {
      q: { ...string, description: 'b', title: 'Q', examples: ['x'] },
    })
    t.match(diff([before], [after]), [{ state: 'doc_only', severity: 'minor', breaking: false }])
    t.equal(worstSeverity(diff([before], [after])), null)
    const described = tool('search', { description: string }, [], { title: 'x' })
    t.match(
      diff([tool('search', {})], [described]),
      [{ change_type: 'tool_schema_optional_param_added' }],
      'a parameter named description is a parameter',
    )
    const needing = (...names: string[]) =>
      tool('search', {}, [], { dependencies: { title: names } })
    t.match(
      diff([needing('q')], [needing('q', 'n')]),
      [{ state: 'changed' }],
      'a condition on a parameter named title is a condition',
    )
  })

  t.test('tells what happened to the parameters of a tool', async (t) => {
    const before = tool('t', { a: string, b: { type: 'integer' } }, ['a'])
    const cases: [Component, object][] = [
      [
        tool('t', { a: string, b: { type: 'integer' }, c: string }, ['a', 'c']),
        { change_type: 'tool_schema_required_param_added', severity: 'moderate', breaking: true },
      ],
      [
        tool('t', { a: string, b: { type: 'integer' }, c: string }, ['a']),
        { change_type: 'tool_schema_optional_param_added', severity: 'minor', breaking: false },
      ],
      [
        tool('t', { a: string }, ['a'], { additionalProperties: false }),
        { change_type: 'tool_schema_param_removed', breaking: true },
      ],
      [
        tool('t', { a: string, b: { type: 'number' } }, ['a']),
        { change_type: 'tool_schema_changed', severity: 'minor', breaking: false },
      ],
    ]
    for (const [after, expected] of cases) t.match(diff([before], [after]), [expected])
  })

  t.test('finds a renamed tool, and guesses nothing', async (t) => {
    const args = { id: string, depth: { type: 'integer' } }
    t.match(diff([tool('lookup', args)], [tool('find', args)]), [
      { change_type: 'tool_renamed', new_name: 'find', severity: 'major', breaking: true },
    ])
    const words = (before: Component[], after: Component[]) =>
      diff(before, after).map(({ change_type }) => change_type)
    t.same(
      words([tool('a', args), tool('b', args)], [tool('c', args)]),
      ['tool_removed', 'tool_removed', 'tool_added'],
      'two could be it',
    )
    t.same(words([tool('a', {})], [tool('b', {})]), ['tool_removed', 'tool_added'], 'no arguments')
    const hashed = (name: string) =>
      component('tool', name, { input_schema_hash: 'h1' }, { content_hash: name })
    t.same(words([hashed('a')], [hashed('b')]), ['tool_renamed'])
  })

  t.test('of tools told by hashes is the same, or cannot be verified', async (t) => {
    const hashed = (content: string, input?: string) =>
      component('tool', 't', input ? { input_schema_hash: input } : {}, { content_hash: content })
    t.same(diff([hashed('x')], [hashed('x')]), [])
    t.match(diff([hashed('x', 'i')], [hashed('y', 'i')]), [{ state: 'doc_only' }])
    t.match(diff([hashed('x', 'i')], [hashed('y', 'j')]), [
      { state: 'changed', breaking: true, details: [{ change: 'schema_unverifiable' }] },
    ])
    t.match(diff([hashed('x')], [hashed('y')]), [{ state: 'changed', breaking: true }])
  })

  t.test('takes a hash with sha256: in front for the same without', async (t) => {
    const [bare, other] = ['a'.repeat(64), 'b'.repeat(64)]
    const kinds = (hash: string) => [
      { ...component('prompt', 'p', {}), content_hash: hash },
      component('subagent', 's', { manifest_hash: hash, handoff_schema_hash: hash }),
      component('tool', 't', { input_schema_hash: hash, output_schema_hash: hash }),
      component('output_contract', 'o', { format: 'json', schema_hash: hash }),
    ]
    const same = diff(kinds(bare), kinds(`sha256:${bare.toUpperCase()}`))
    t.same(
      same.filter(({ breaking, details }) => breaking || details.length > 0),
      [],
    )
    t.notOk(same.some(({ surface }) => surface === 'prompt:p'))
    const told = diff(kinds(bare), kinds(`sha256:${other}`))
    t.same(
      told.filter(({ breaking }) => breaking).map(({ surface }) => surface),
      ['output_contract:o', 'subagent:s', 'tool:t'],
    )
  })

  t.test('of models goes by configuration, family and provider', async (t) => {
    const model = (name: string, more: object = {}) =>
      component('model', 'main', { provider: 'openai', model: name, ...more })
    const severity = (before: Component, after: Component) => diff([before], [after])[0]?.severity
    t.equal(severity(model('gpt-4o'), model('gpt-4o', { temperature: 0.2 })), 'minor')
    t.equal(severity(model('gpt-4o-2024-05-13'), model('gpt-4o-mini')), 'moderate')
    t.equal(severity(model('gpt-4o'), model('gpt-4.1')), 'major')
    t.match(diff([model('gpt-4o')], [model('gpt-4o', { provider: 'azure' })]), [
      { severity: 'major', breaking: true },
    ])
    const named = (name: string) => component('model', name, {})
    t.match(diff([named('claude-3-5-sonnet-20241022')], [named('claude-3-5-sonnet-latest')]), [
      { change_type: 'model_changed', severity: 'moderate', new_name: 'claude-3-5-sonnet-latest' },
    ])
  })

  t.test('of prompts goes by how much of the text is new', async (t) => {
    const words = Array.from({ length: 200 }, (_, i) => `word${i}`)
    const severity = (changed: number) => {
      const after = words.map((word, i) => (i < changed ? `new${i}` : word))
      const prompt = (text: string[]) => component('prompt', 'system', { text: text.join(' ') })
      return diff([prompt(words)], [prompt(after)])[0]?.severity
    }
    t.equal(severity(5), 'minor')
    t.equal(severity(40), 'moderate')
    t.equal(severity(120), 'major')
    t.equal(severity(10), 'minor', '5 % of the words')
    const hashed = (hash: string) => component('prompt', 'system', {}, { content_hash: hash })
    t.match(diff([hashed('a')], [hashed('b')]), [{ severity: 'moderate' }])
  })

  t.test('of output contracts goes by strictness, schema and format', async (t) => {
    const schema = { type: 'object', properties: { a: string } }
    const contract = (told: Record<string, unknown>) => component('output_contract', 'out', told)
    const severity = (before: Component, after: Component) => diff([before], [after])[0]?.severity
    t.equal(severity(contract({ schema }), contract({ schema, strict: true })), 'major')
    t.equal(severity(contract({ schema }), contract({ schema: { type: 'object' } })), 'moderate')
    t.equal(severity(contract({ format: 'text' }), contract({ format: 'markdown' })), 'moderate')
    const policed = (limits: object) => contract({ schema, policy: limits })
    t.match(diff([policed({ max_steps: 3 })], [policed({ max_steps: 2 })]), [
      { severity: 'moderate', breaking: true, details: [{ change: 'policy' }] },
    ])
    t.match(diff([contract({ schema })], [contract({ schema, forbidden_tools: ['a'] })]), [
      { breaking: true, details: [{ change: 'policy' }] },
    ])
    const of = (before: object, after: object) =>
      diff(
        [component('output_contract', 'out', { format: 'json' }, before)],
        [component('output_contract', 'out', { format: 'json' }, after)],
      )
    const hashed = (schema_hash: string) => ({ schema_json: { format: 'json', schema_hash } })
    t.match(of(hashed('a'), { ...hashed('b'), content_hash: 'b' }), [
      { severity: 'moderate', breaking: true, details: [{ change: 'schema_hash' }] },
    ])
    t.match(of({ content_hash: 'a' }, { content_hash: 'b' }), [
      { state: 'changed', breaking: true },
    ])
    t.match(
      of({}, { schema_json: { format: 'json', title: 'x' }, content_hash: 'x' }),
      [{ state: 'changed' }],
      'a hash of the client may cover more than is told',
    )
  })

  t.test('of sub-agents breaks by version, reference and hand-off schema', async (t) => {
    const agent = (told: Record<string, unknown>, more: object = {}) =>
      component('subagent', 'billing', told, more)
    const handoff = (type: string) => agent({ handoff_schema: { type: 'object', items: { type } } })
    const cases: [Component, Component, boolean][] = [
      [agent({}, { component_version: '1' }), agent({}, { component_version: '2' }), true],
      [agent({ ref: 'a' }), agent({ ref: 'b' }), true],
      [handoff('string'), handoff('integer'), true],
      [agent({ handoff_schema_hash: 'a' }), agent({ handoff_schema_hash: 'b' }), true],
      [agent({}, { content_hash: 'a' }), agent({}, { content_hash: 'b' }), true],
      [agent({ description: 'a' }), agent({ description: 'b' }), false],
    ]
    for (const [before, after, breaking] of cases) {
      t.match(diff([before], [after]), [{ state: 'changed', severity: 'moderate', breaking }])
    }
    t.same(diff([agent({ ref: 'a' })], [agent({ ref: 'a' })]), [])
  })

  t.test('of what holds for the whole agent breaks, but for its environment', async (t) => {
    const changed = (type: ComponentType) =>
      diff(
        [component(type, 'x', {}, { content_hash: 'a' })],
        [component(type, 'x', {}, { content_hash: 'b' })],
      )
    t.match(changed('workflow'), [{ severity: 'major', breaking: true }])
    t.match(changed('behavioral_policy'), [{ severity: 'moderate', breaking: true }])
    t.match(changed('environment'), [{ severity: 'moderate', breaking: false }])
    t.match(changed('guardrail'), [{ severity: 'minor', breaking: false }])
  })
})
