import t from 'tap'
import { planTransition } from '../../../../jobs/rules/manifests/compat-plan.ts'
import { classify } from '../../../../jobs/rules/manifests/compatibility.ts'
import type { Component } from '../../../../jobs/rules/manifests/manifest.ts'
import { applyRules, coerce } from '../../../../jobs/rules/manifests/tool-repair.ts'
import { schemaCompiler } from '../../../../workers/examination/schema-compiler.ts'
import {
  component,
  manifest,
  manifests,
  schemas,
  tool,
  traceOf,
} from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'

const string = { type: 'string' }
const integer = { type: 'integer' }
const compile = schemaCompiler()

/** Decides on a trace between two lists of components. */
function decide(before: Component[], after: Component[], trace: ReturnType<typeof traceOf>) {
  return classify(trace, planTransition(manifest(...before), manifest(...after), compile))
}

t.test('a tool call under a new schema', async (t) => {
  const refund = tool('refund', { order: string, amount: integer }, ['order'])
  const renewed = tool(
    'refund',
    { order_id: string, amount: integer, currency: { ...string, default: 'usd' } },
    ['order_id', 'currency'],
    { additionalProperties: false },
  )

  t.test('is repaired by a renamed parameter and a default', async (t) => {
    const decision = decide([refund], [renewed], traceOf([['refund', { order: 'o1', amount: 3 }]]))
    t.match(decision, {
      verdict: 'repair',
      needs_review: false,
      reasons: [{ action: 'repair', code: 'tool_schema_changed_repairable', subject: 'refund' }],
    })
    t.same(decision.repair_rules, [
      { tool: 'refund', rule: 'rename_param', from: 'order', to: 'order_id' },
      { tool: 'refund', rule: 'add_default', param: 'currency', value: 'usd' },
    ])
  })

  t.test('is kept where its own arguments still fit, and replayed where they do not', async (t) => {
    const before = tool('search', { limit: integer })
    const after = tool('search', { limit: { ...integer, maximum: 50 } })
    const kept = decide([before], [after], traceOf([['search', { limit: 10 }]]))
    t.match(kept, {
      verdict: 'keep',
      reasons: [{ action: 'keep', code: 'tool_schema_changed_args_still_valid' }],
    })
    const replayed = decide([before], [after], traceOf([['search', { limit: 99 }]]))
    t.match(replayed, {
      verdict: 'replay',
      reasons: [{ code: 'tool_schema_incompatible', detail: '/limit maximum' }],
      repair_rules: [],
    })
  })

  t.test('is validated where a keyword changed that no comparison knows', async (t) => {
    const lookup = (id: object, output: object) =>
      component('tool', 'lookup', {
        input_schema: { type: 'object', properties: { id } },
        output_schema: { type: 'object', properties: { found: output } },
      })
    const before = lookup({ ...string, nullable: true }, string)
    const after = lookup(string, integer)
    const decided = (id: unknown) => decide([before], [after], traceOf([['lookup', { id }]]))
    t.match(decided('o1').reasons, [{ code: 'tool_schema_changed_args_still_valid' }])
    t.match(decided(null), { verdict: 'replay', reasons: [{ detail: '/id type' }] })
  })

  t.test('is told its rules in the order that holds for every call', async (t) => {
    const before = tool('pay', { amount: integer })
    const after = tool('pay', { amount: { ...string, default: 5 } }, ['amount'])
    const trace = traceOf([
      ['pay', { amount: 3 }],
      ['pay', {}],
    ])
    t.same(decide([before], [after], trace).repair_rules, [
      { tool: 'pay', rule: 'add_default', param: 'amount', value: 5 },
      { tool: 'pay', rule: 'coerce', param: 'amount', to: 'string' },
    ])
  })

  t.test('is not repaired by a guess between two equal parameters', async (t) => {
    const before = tool('send', { from: string, to: string })
    const after = tool('send', { sender: string, recipient: string }, ['sender', 'recipient'])
    const decision = decide([before], [after], traceOf([['send', { from: 'a', to: 'b' }]]))
    t.match(decision, { verdict: 'replay', repair_rules: [] })
  })

  t.test('drops a parameter only where extras are forbidden', async (t) => {
    const before = tool('t', { a: string, b: integer })
    const trace = traceOf([['t', { a: 'x', b: 1 }]])
    const closed = decide(
      [before],
      [tool('t', { a: string }, [], { additionalProperties: false })],
      trace,
    )
    t.same(closed.repair_rules, [{ tool: 't', rule: 'drop_param', param: 'b' }])
    t.equal(decide([before], [tool('t', { a: string })], trace).verdict, 'keep')
  })

  t.test('coerces only what is the same thing said', async (t) => {
    const before = tool('t', { n: string, list: string, text: integer })
    const after = tool('t', { n: integer, list: { type: 'array', items: string }, text: string })
    const good = traceOf([['t', { n: '7', list: 'a', text: 5 }]])
    t.same(
      decide([before], [after], good).repair_rules.map(({ rule }) => rule),
      ['coerce', 'coerce', 'coerce'],
    )
    t.equal(decide([before], [after], traceOf([['t', { n: '007' }]])).verdict, 'replay')
    t.equal(coerce('007', 'integer'), '007')
    t.equal(coerce('1e3', 'number'), '1e3')
    t.equal(coerce('1.5', 'integer'), '1.5')
    t.equal(coerce('-0', 'number'), '-0')
    t.equal(coerce('1.5', 'number'), 1.5)
    t.equal(coerce(null, 'string'), null)
    t.same(coerce({}, 'array'), {})
  })

  t.test('of a renamed tool takes the new name where its arguments fit', async (t) => {
    const [before, after] = [tool('lookup', { id: string }), tool('find', { id: string })]
    t.match(decide([before], [after], traceOf([['lookup', { id: '1' }]])), {
      verdict: 'repair',
      repair_rules: [{ tool: 'lookup', rule: 'rename_tool', to: 'find' }],
    })
    t.match(decide([before], [after], traceOf([['lookup', { id: 1 }]])), { verdict: 'replay' })
  })

  t.test(
    'of a removed tool is replayed, and dropped where nothing could be replayed',
    async (t) => {
      const calls = [['gone', {}]] as const
      t.match(decide([tool('gone', {})], [], traceOf(calls)), {
        verdict: 'replay',
        reasons: [{ action: 'replay', code: 'tool_missing', subject: 'gone' }],
      })
      for (const more of [{ user_input_preview: null }, { metadata: { replayable: false } }]) {
        t.match(decide([tool('gone', {})], [], traceOf(calls, more)), {
          verdict: 'drop',
          reasons: [{ action: 'drop', code: 'not_replayable' }, { code: 'tool_missing' }],
        })
      }
    },
  )

  t.test('of a tool told by hashes cannot be verified', async (t) => {
    const hashed = (hash: string) =>
      component('tool', 't', { input_schema_hash: hash }, { content_hash: hash })
    t.match(decide([hashed('a')], [hashed('b')], traceOf([['t', {}]])), {
      verdict: 'replay',
      reasons: [{ code: 'tool_schema_unverifiable' }],
    })
    t.match(decide([hashed('a')], [tool('t', { n: integer })], traceOf([['t', { n: 1 }]])), {
      verdict: 'keep',
    })
  })

  t.test('of a tool that nobody declared asks for a look', async (t) => {
    t.match(decide([], [], traceOf([['mystery', {}]])), {
      verdict: 'keep',
      needs_review: true,
      reasons: [{ action: 'flag', code: 'tool_not_in_manifests', subject: 'mystery' }],
    })
    const many = Array.from({ length: 502 }, (_, i) => [`t${i}`, {}] as [string, object])
    const { reasons } = decide([], [], traceOf([...many, ['t501', {}]]))
    t.equal(reasons.length, 500, 'and of more, the first')
    t.same(
      reasons.filter(({ detail }) => detail),
      [{ ...reasons[0], subject: 't499', detail: 'and others' }],
    )
  })

  t.test('whose arguments were not recorded asks for a look', async (t) => {
    const spans = [{ span_type: 'tool', name: 'refund' }]
    const trace = traceOf([], { spans })
    t.match(decide([refund], [renewed], trace), {
      verdict: 'keep',
      needs_review: true,
      reasons: [{ code: 'missing_artifacts', subject: 'refund' }],
    })
    const told = [{ ...spans[0], attributes: { arguments: '{"order":"o1"}' } }]
    t.equal(decide([refund], [renewed], traceOf([], { spans: told })).verdict, 'repair')
  })

  t.test('of a sub-agent or a judge does not count', async (t) => {
    const llm_calls = [
      { agent_name: 'helper', tool_calls: [{ tool_name: 'gone', args: {} }] },
      { call_role: 'judge', tool_calls: [{ tool_name: 'gone', args: {} }] },
    ]
    t.match(decide([tool('gone', {})], [], traceOf([], { llm_calls })), {
      verdict: 'keep',
      reasons: [],
    })
  })
})

t.test('what else a trace used', async (t) => {
  const model = (name: string) => component('model', 'main', { provider: 'openai', model: name })

  t.test('a model decides by how far it moved, for traces that called it', async (t) => {
    const verdict = (name: string, more = {}) =>
      decide([model('gpt-4o')], [model(name)], traceOf([], more))
    t.match(verdict('gpt-4.1'), { verdict: 'replay', reasons: [{ code: 'model_runtime_changed' }] })
    t.match(verdict('gpt-4o-mini'), { verdict: 'keep', needs_review: true })
    t.match(verdict('gpt-4.1', { llm_calls: [] }), { verdict: 'keep', reasons: [] })
    const two = [model('gpt-4o'), component('model', 'other', { model: 'o3' })]
    const after = [model('gpt-4o'), component('model', 'other', { model: 'o4' })]
    t.match(decide(two, after, traceOf([])), { reasons: [] }, 'it called the other one')
    const unknown = traceOf([], { llm_calls: [{ model_name: 'x' }] })
    t.match(decide(two, after, unknown), { verdict: 'replay' }, 'it may have been that one')
  })

  t.test('a prompt decides by how much of it is new', async (t) => {
    const prompt = (text: string) => component('prompt', 'system', { text })
    const words = Array.from({ length: 100 }, (_, i) => `w${i}`).join(' ')
    t.match(decide([prompt(words)], [prompt(`${words} more`)], traceOf([])), {
      verdict: 'keep',
      needs_review: false,
      reasons: [{ action: 'keep', code: 'prompt_policy_changed' }],
    })
    t.equal(decide([prompt(words)], [prompt('other')], traceOf([])).verdict, 'replay')
  })

  t.test('a skill counts when it was active', async (t) => {
    const skill = (text: string) => component('skill', 'refunds', { text })
    const active = traceOf([], { active_skills: ['refunds'] })
    t.match(decide([skill('a')], [], active), {
      verdict: 'replay',
      reasons: [{ code: 'skill_missing' }],
    })
    t.match(decide([skill('a')], [skill('b')], active), { verdict: 'keep', needs_review: true })
    t.match(decide([skill('a')], [], traceOf([])), { verdict: 'keep', reasons: [] })
  })

  t.test('a sub-agent counts when it was given work', async (t) => {
    const agent = (hash: string) => component('subagent', 'billing', { manifest_hash: hash })
    const handed = traceOf([], { spans: [{ span_type: 'handoff', name: 'handoff to billing' }] })
    t.match(decide([agent('a')], [agent('b')], handed), {
      verdict: 'replay',
      reasons: [{ code: 'subagent_interface_changed', subject: 'billing' }],
    })
    t.match(decide([agent('a')], [], traceOf([])), { verdict: 'keep', reasons: [] })
  })

  t.test('the final output is held against the new contract', async (t) => {
    const contract = (properties: object, required: string[]) =>
      component('output_contract', 'answer', {
        schema: { type: 'object', properties, required, additionalProperties: false },
      })
    const before = contract({ answer: string }, ['answer'])
    const after = contract({ reply: string }, ['reply'])
    const answered = (content: string) => traceOf([], { llm_calls: [{ output: { content } }] })
    t.same(decide([before], [after], answered('{"answer":"yes"}')).repair_rules, [
      { tool: null, rule: 'rename_param', from: 'answer', to: 'reply' },
    ])
    t.match(decide([before], [after], answered('yes')), {
      verdict: 'replay',
      reasons: [{ code: 'output_contract_changed', detail: 'not JSON' }],
    })
    t.equal(decide([before], [after], answered('{"reply":"yes"}')).verdict, 'keep')
    t.match(decide([before], [after], traceOf([])), {
      verdict: 'keep',
      needs_review: true,
      reasons: [{ code: 'missing_artifacts' }],
    })
  })

  t.test('and where a keyword changed beside the policy that no comparison knows', async (t) => {
    const contract = (answer: object, max_steps: number) =>
      component('output_contract', 'out', {
        schema: { type: 'object', properties: { answer } },
        policy: { max_steps },
      })
    const before = contract({ ...string, nullable: true }, 1)
    const answered = traceOf([], { llm_calls: [{ output: { content: '{"answer":null}' } }] })
    t.match(decide([before], [contract(string, 2)], answered), { verdict: 'replay' })
  })

  t.test('another policy beside the output holds for every trace, and flags none', async (t) => {
    const contract = (max_steps: number) =>
      component('output_contract', 'answer', { schema: { type: 'string' }, policy: { max_steps } })
    t.match(decide([contract(3)], [contract(2)], traceOf([])), {
      verdict: 'keep',
      needs_review: false,
      reasons: [{ code: 'component_changed', subject: 'answer' }],
    })
  })
})

t.test('the decision on a trace', async (t) => {
  const calls = fc.array(
    fc.tuple(
      fc.constantFrom('a', 'b', 'c', 'd'),
      fc.dictionary(
        fc.constantFrom('p', 'q', 'r'),
        fc.oneof(fc.constantFrom('usd', '3'), fc.nat(9)),
      ),
    ),
    { maxLength: 4 },
  )

  t.test('is keep for a manifest and itself', async (t) => {
    fc.assert(
      fc.property(manifests(), calls, ({ components }, made) => {
        t.equal(decide([...components], [...components], traceOf(made)).verdict, 'keep')
      }),
    )
  })

  t.test('has the same bytes whatever the order of components', async (t) => {
    fc.assert(
      fc.property(manifests(), manifests(), calls, (before, after, made) => {
        const [a, b] = [[...before.components], [...after.components]]
        const trace = traceOf(made)
        const turned = decide(a.toReversed(), b.toReversed(), trace)
        t.equal(JSON.stringify(turned), JSON.stringify(decide(a, b, trace)))
      }),
    )
  })

  t.test('does not change for a tool it never called', async (t) => {
    fc.assert(
      fc.property(manifests(), manifests(), calls, (before, after, made) => {
        const [a, b] = [[...before.components], [...after.components]]
        const unused = tool('unused', { z: string })
        const plain = decide(a, b, traceOf(made))
        t.same(decide([...a, unused], b, traceOf(made)), plain)
        t.same(decide(a, [...b, unused], traceOf(made)), plain)
      }),
    )
  })

  t.test('repairs into arguments that the new schema accepts', async (t) => {
    let repaired = 0
    fc.assert(
      fc.property(schemas(), schemas(), calls, (before, after, made) => {
        const of = (input_schema: object) => [component('tool', 'a', { input_schema })]
        const { verdict, repair_rules } = decide(of(before), of(after), traceOf(made))
        if (verdict !== 'repair') return
        repaired++
        const rules = repair_rules.filter((rule) => rule.rule !== 'rename_tool')
        for (const [name, args] of made) {
          if (name === 'a') t.same(compile(after)(applyRules(rules, args).value), [])
        }
      }),
      { numRuns: 1000 },
    )
    t.ok(repaired > 10, `${repaired} repairs seen`)
  })

  t.test('never gets milder by a further call', async (t) => {
    const rank = ['keep', 'repair', 'replay', 'drop']
    fc.assert(
      fc.property(manifests(), manifests(), calls, calls, (before, after, made, more) => {
        const [a, b] = [[...before.components], [...after.components]]
        const fewer = decide(a, b, traceOf(made))
        const all = decide(a, b, traceOf([...made, ...more]))
        t.ok(rank.indexOf(all.verdict) >= rank.indexOf(fewer.verdict))
      }),
    )
  })
})
