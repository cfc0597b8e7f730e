import t from 'tap'
import { planTransition } from '../../../../jobs/rules/manifests/compat-plan.ts'
import {
  emptyTally,
  impactByName,
  rulesWithCounts,
  tallyDecision,
} from '../../../../jobs/rules/manifests/compat-tally.ts'
import { classify } from '../../../../jobs/rules/manifests/compatibility.ts'
import { fitEvidence, fitScore } from '../../../../jobs/rules/evals/fit.ts'
import { impactOf, riskOf, structuralSeverity } from '../../../../jobs/rules/manifests/impact.ts'
import type { Component } from '../../../../jobs/rules/manifests/manifest.ts'
import { diffManifests } from '../../../../jobs/rules/manifests/manifest-diff.ts'
import { schemaCompiler } from '../../../../workers/examination/schema-compiler.ts'
import { component, manifest, manifests, tool, traceOf } from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'

const string = { type: 'string' }
const integer = { type: 'integer' }
const compile = schemaCompiler()

/** The change between two lists of components, and what traces come to by it. */
function measure(
  before: Component[],
  after: Component[],
  ...traces: readonly ReturnType<typeof traceOf>[]
) {
  const changes = diffManifests(manifest(...before), manifest(...after))
  const transition = planTransition(manifest(...before), manifest(...after), compile)
  const decisions = traces.map((trace) => classify(trace, transition))
  const tally = emptyTally()
  decisions.forEach((decision, i) => tallyDecision(tally, `t${i}`, decision))
  return { changes, decisions, tally, impact: impactOf(changes, tally) }
}

t.test('the impact of a change', async (t) => {
  t.test('is high where calls that are made are refused, or another model answers', async (t) => {
    const model = (name: string) => component('model', 'main', { model: name })
    const skill = component('skill', 's', { text: 'x' })
    const cases: [Component[], Component[], ReturnType<typeof traceOf>][] = [
      [[tool('a', {})], [], traceOf([['a', {}]])],
      [
        [tool('a', { x: string }, ['x'])],
        [tool('a', { x: integer }, ['x'])],
        traceOf([['a', { x: 'v' }]]),
      ],
      [[tool('a', {})], [tool('a', { x: string }, ['x'])], traceOf([['a', {}]])],
      [[skill], [], traceOf([], { active_skills: ['s'] })],
      [[model('gpt-4o')], [model('gpt-4.1')], traceOf([])],
    ]
    for (const [before, after, trace] of cases) {
      t.equal(measure(before, after, trace).impact.severity, 'high')
      const unused = traceOf([], { llm_calls: [] })
      t.equal(measure(before, after, unused).impact.severity, 'low', 'nobody used it')
    }
  })

  t.test('is medium where it breaks in another way, and low otherwise', async (t) => {
    const before = [tool('a', { n: integer })]
    const bounded = measure(
      before,
      [tool('a', { n: { ...integer, maximum: 5 } })],
      traceOf([['a', { n: 9 }]]),
    )
    t.match(bounded.impact, { severity: 'medium', severity_reason: /tool a.*used by 1 trace$/ })
    const added = measure(before, [...before, tool('c', {})], traceOf([['a', { n: 9 }]]))
    t.equal(added.impact.severity, 'low')
  })

  t.test(
    'goes by structure where there is no trace, and is none where nothing changed',
    async (t) => {
      const before = [tool('a', { n: integer })]
      t.match(measure(before, []).impact, { severity: 'high', severity_reason: /structure only/ })
      t.equal(structuralSeverity(measure(before, []).changes), 'high')
      t.match(measure(before, before, traceOf([['a', {}]])).impact, {
        severity: null,
        human_summary: 'No structural change.',
      })
      t.equal(structuralSeverity([]), null)
    },
  )

  t.test('of each kind of change under traffic', async (t) => {
    const hash = (content_hash: string) => ({ content_hash })
    const model = (name: string, provider = 'openai') =>
      component('model', 'main', { model: name, provider })
    const words = Array.from({ length: 100 }, (_, i) => `w${i}`)
    const prompt = (changed: number) =>
      component('prompt', 'p', {
        text: words.map((w, i) => (i % 2 === 0 && i < 2 * changed ? `${w}x` : w)).join(' '),
      })
    const schema = (type: string) => ({ type: 'object', properties: { a: { type } } })
    const output = (told: Record<string, unknown>) => component('output_contract', 'out', told)
    const toolOutput = ({ schema: type, hash }: { schema?: string; hash?: string }) =>
      component('tool', 'a', {
        input_schema: schema('integer'),
        ...(type && { output_schema: schema(type) }),
        ...(hash && { output_schema_hash: hash }),
      })
    const answered = traceOf([], { llm_calls: [{ output: { content: '{"a":"x"}' } }] })
    const called = traceOf([['a', { n: 9 }]])
    const cases: [string, Component, Component | undefined, string, typeof called?][] = [
      ['required added', tool('a', {}), tool('a', { x: string }, ['x']), 'high'],
      ['optional added', tool('a', {}), tool('a', { x: string }), 'low'],
      ['tool renamed', tool('a', { n: integer }), tool('b', { n: integer }), 'high'],
      [
        'hashes of a tool',
        component('tool', 'a', { input_schema_hash: 'h' }, hash('x')),
        component('tool', 'a', { input_schema_hash: 'i' }, hash('y')),
        'high',
      ],
      [
        'content of a tool',
        component('tool', 'a', {}, hash('x')),
        component('tool', 'a', {}, hash('y')),
        'high',
      ],
      [
        'output of a tool',
        toolOutput({ schema: 'string' }),
        toolOutput({ schema: 'integer' }),
        'medium',
      ],
      ['hash of it', toolOutput({ hash: 'h' }), toolOutput({ hash: 'i' }), 'high'],
      ['model of the family', model('gpt-4o'), model('gpt-4o-mini'), 'medium'],
      ['another family', model('gpt-4o'), model('gpt-5'), 'high'],
      ['another provider', model('gpt-4o'), model('gpt-4o', 'azure'), 'high'],
      [
        'hash of a model',
        component('model', 'm', {}, hash('x')),
        component('model', 'm', {}, hash('y')),
        'medium',
      ],
      ['prompt by 5 %', prompt(0), prompt(5), 'low'],
      ['prompt by 20 %', prompt(0), prompt(20), 'medium'],
      ['prompt rewritten', prompt(0), component('prompt', 'p', { text: 'all new' }), 'high'],
      [
        'workflow',
        component('workflow', 'w', { n: 1 }),
        component('workflow', 'w', { n: 2 }),
        'high',
      ],
      ['workflow removed', component('workflow', 'w', { n: 1 }), undefined, 'high'],
      [
        'policy',
        component('behavioral_policy', 'p', {}, hash('x')),
        component('behavioral_policy', 'p', {}, hash('y')),
        'medium',
      ],
      [
        'environment',
        component('environment', 'e', { a: 1 }),
        component('environment', 'e', { a: 2 }),
        'medium',
      ],
      [
        'output schema',
        output({ schema: schema('string') }),
        output({ schema: schema('integer') }),
        'medium',
        answered,
      ],
      [
        'output schema hash',
        output({ format: 'json', schema_hash: 'a' }),
        output({ format: 'json', schema_hash: 'b' }),
        'medium',
        answered,
      ],
      ['output format', output({ format: 'text' }), output({ format: 'json' }), 'medium', answered],
      [
        'output policy',
        output({ schema: schema('string'), policy: { max_steps: 3 } }),
        output({ schema: schema('string'), policy: { max_steps: 2 } }),
        'medium',
        traceOf([], { status: 'error' }),
      ],
      ['output contract removed', output({ format: 'json' }), undefined, 'medium', answered],
    ]
    for (const [name, before, after, severity, trace = called] of cases) {
      const { impact } = measure([before], after ? [after] : [], trace)
      t.equal(impact.severity, severity, name)
    }
  })

  t.test('is never milder with traffic than without', async (t) => {
    const rank = ['low', 'medium', 'high']
    fc.assert(
      fc.property(manifests(), manifests(), fc.integer({ min: 1, max: 9 }), (before, after, n) => {
        for (const change of diffManifests(before, after)) {
          const [without, used] = [structuralSeverity([change]) ?? 'low', riskOf(change, n)]
          t.ok(rank.indexOf(used) >= rank.indexOf(without), `${change.surface} ${used}`)
        }
      }),
    )
  })

  t.test('does not get milder the more traces use what has changed', async (t) => {
    const rank = ['low', 'medium', 'high']
    fc.assert(
      fc.property(manifests(), manifests(), fc.nat(5), fc.nat(5), (before, after, few, more) => {
        for (const change of diffManifests(before, after)) {
          const [a, b] = [riskOf(change, few), riskOf(change, few + more)]
          t.ok(rank.indexOf(b) >= rank.indexOf(a))
        }
      }),
    )
  })
})

t.test('what traces come to', async (t) => {
  const before = [tool('refund', { order: string }, ['order']), tool('search', { n: integer })]
  const after = [
    tool('refund', { order_id: string }, ['order_id']),
    tool('search', { n: { ...integer, maximum: 5 } }),
  ]

  t.test('is counted by verdict, by component, by reason and by rule', async (t) => {
    const { tally } = measure(
      before,
      after,
      traceOf([
        ['refund', { order: '1' }],
        ['search', { n: 9 }],
      ]),
      traceOf([
        ['refund', { order: '2' }],
        ['refund', { order: '3' }],
      ]),
      traceOf([['search', { n: 1 }]]),
      traceOf([['mystery', {}]]),
    )
    t.match(tally, {
      total_episodes: 4,
      keep: 2,
      repair: 1,
      replay: 1,
      drop: 0,
      needs_review: 1,
      affected_trace_count: 3,
      surfaces: {
        'tool:refund': { affected: 2, repair: 2, sample_trace_ids: ['t0', 't1'] },
        'tool:search': { affected: 2, keep: 1, replay: 1 },
      },
      reason_counts: { tool_schema_changed_repairable: 2, tool_not_in_manifests: 1 },
    })
    t.same(impactByName(tally)['search'], { keep: 1, repair: 0, replay: 1, drop: 0 })
    t.same(rulesWithCounts(tally), [
      { tool: 'refund', rule: 'rename_param', from: 'order', to: 'order_id', traces: 1 },
    ])
  })

  t.test('holds for components that are named like parts of objects', async (t) => {
    const { tally } = measure([tool('__proto__', {})], [], traceOf([['__proto__', {}]]))
    t.same(Object.entries(impactByName(tally)), [
      ['__proto__', { keep: 0, repair: 0, replay: 1, drop: 0 }],
    ])
    t.equal(({} as { keep?: number }).keep, undefined)
  })

  t.test('gets no milder by a change of model or prompt that goes further', async (t) => {
    const rank = ['keep', 'repair', 'replay', 'drop']
    const model = (name: string) => component('model', 'main', { model: name })
    const verdicts = ['gpt-4o', 'gpt-4o-mini', 'gpt-5'].map((name) => {
      const [decision] = measure([model('gpt-4o')], [model(name)], traceOf([])).decisions
      return [rank.indexOf(decision?.verdict ?? ''), Number(decision?.needs_review)]
    })
    t.same(verdicts, [
      [0, 0],
      [0, 1],
      [2, 0],
    ])
    const words = Array.from({ length: 100 }, (_, i) => `w${i}`)
    const prompt = (changed: number) =>
      component('prompt', 'p', { text: words.map((w, i) => (i < changed ? `${w}x` : w)).join(' ') })
    fc.assert(
      fc.property(fc.nat(100), fc.nat(100), (a, b) => {
        const [less, more] = [Math.min(a, b), Math.max(a, b)].map((changed) => {
          const [decision] = measure([prompt(0)], [prompt(changed)], traceOf([])).decisions
          return rank.indexOf(decision?.verdict ?? '') * 2 + Number(decision?.needs_review)
        }) as [number, number]
        t.ok(more >= less)
      }),
    )
  })

  t.test('is told to the decision by its worst reason, and as a score', async (t) => {
    const target_manifest_id = 'm'
    const trace = traceOf([
      ['search', { n: 9 }],
      ['refund', { order: '1' }],
    ])
    const [decision] = measure(before, after, trace).decisions
    const fit = { ...decision, target_manifest_id } as Parameters<typeof fitEvidence>[0]
    t.match(fitEvidence(fit), {
      verdict: 'replay',
      code: 'compat.tool_schema_incompatible',
      subject: 'search',
      message: 'tool search: tool schema incompatible (/n maximum)',
    })
    t.match(fitScore(fit), { value: 0.25, passed: false, category: 'compatibility' })
    const own = { target_manifest_id, verdict: 'keep' as const, needs_review: false, reasons: [] }
    t.match(fitEvidence(own), { verdict: 'keep', code: 'compat.fits' })
    t.match(fitScore(own), { value: 1, passed: true, reason: null })
  })
})
