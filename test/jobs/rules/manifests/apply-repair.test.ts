import t from 'tap'
import assert from 'node:assert/strict'
import { applyRepair } from '../../../../jobs/rules/manifests/apply-repair.ts'
import { parseJson } from '../../../../jobs/rules/core/parse-json.ts'
import { planTransition } from '../../../../jobs/rules/manifests/compat-plan.ts'
import { classify } from '../../../../jobs/rules/manifests/compatibility.ts'
import type { JsonSchema } from '../../../../jobs/rules/manifests/contract.ts'
import type { Component, Manifest } from '../../../../jobs/rules/manifests/manifest.ts'
import { planRepair } from '../../../../jobs/rules/manifests/repair-plan.ts'
import { listRepairRules } from '../../../../jobs/rules/manifests/repair-rules.ts'
import { readTrace } from '../../../../jobs/rules/traces/read-trace.ts'
import { ownCalls } from '../../../../jobs/rules/traces/trace-use.ts'
import type { LlmCall, Message, Trace } from '../../../../jobs/rules/traces/trace.ts'
import { schemaCompiler } from '../../../../workers/examination/schema-compiler.ts'
import { component, manifest, tool, traceOf } from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'
import { manifestPairs, sentTraces } from '../../../support/repairable-traces.ts'

const string = { type: 'string' }
const integer = { type: 'integer' }
const compile = schemaCompiler()

const REFUND = tool('refund', { order: string, amount: integer }, ['order'])
const REFUND_2 = tool(
  'refund',
  { order_id: string, amount: integer, currency: { ...string, default: 'usd' } },
  ['order_id', 'currency'],
  { additionalProperties: false },
)
const LOOKUP = tool('lookup', { id: string })
const FIND = tool('find', { id: string })
/** Rules: 0 renames the tool, 1 the parameter, 2 adds the default. */
const [BEFORE, AFTER] = [
  [REFUND, LOOKUP],
  [REFUND_2, FIND],
]

function planOf(before: Manifest, after: Manifest) {
  const transition = planTransition(before, after, compile)
  return { transition, repair: planRepair(transition, after) }
}

function apply(
  trace: Trace,
  approved: readonly number[] | null = null,
  [before, after]: [Component[], Component[]] = [BEFORE, AFTER],
) {
  const { repair } = planOf(manifest(...before), manifest(...after))
  return applyRepair(trace, repair, approved && new Set(approved))
}

/** The LLM calls of a repaired trace. */
function repaired(trace: Trace, pair?: [Component[], Component[]]): LlmCall[] {
  const outcome = apply(trace, null, pair)
  if (outcome.kind !== 'repaired') throw new Error(JSON.stringify(outcome))
  return outcome.content.llm_calls
}

const said = (llm_calls: object[], more = {}) => traceOf([], { llm_calls, ...more })
const asked = (name: string, args: unknown, id?: string) => ({
  ...(id && { id }),
  type: 'function',
  function: { name, arguments: args },
})

t.test('a repaired trace', async (t) => {
  t.test('has a call patched as record, as output and in all later messages', async (t) => {
    const turn = {
      role: 'assistant',
      content: 'I look',
      tool_calls: [
        asked('refund', '{"order": "o1"}', 'c1'),
        asked('lookup', '{ "id": "7" }', 'c2'),
      ],
    }
    const answers = [
      { role: 'tool', tool_call_id: 'c1', name: 'refund', content: '{"order":"o1"}' },
      { role: 'tool', tool_call_id: 'c2', name: 'lookup', content: 'lookup' },
    ]
    const user = { role: 'user', content: 'refund lookup' }
    const calls = repaired(
      said([
        { rendered_input: [user], output: turn, model_name: 'm' },
        { rendered_input: [user, turn, ...answers], output: { content: 'Done' } },
        { rendered_input: [user, turn, ...answers, { role: 'assistant', content: 'Done' }] },
      ]),
    )
    const patched = {
      ...turn,
      tool_calls: [
        asked('refund', '{"currency":"usd","order_id":"o1"}', 'c1'),
        asked('find', '{ "id": "7" }', 'c2'),
      ],
    }
    t.same(calls[0]?.output, patched)
    t.match(calls[0]?.tool_calls, [
      { id: 'c1', tool_name: 'refund', args: { order_id: 'o1', currency: 'usd' } },
      { id: 'c2', tool_name: 'find', args: { id: '7' } },
    ])
    const named = [answers[0], { ...answers[1], name: 'find' }]
    t.same(calls[1]?.rendered_input, [user, patched, ...named])
    t.same(calls[2]?.rendered_input.slice(0, 4), [user, patched, ...named])
    t.equal(calls[0]?.model_name, 'm')
  })

  t.test('is patched alike without ids and with the same id for all', async (t) => {
    for (const id of [undefined, 'c']) {
      const messages = ['o1', 'o2'].map((order) => ({
        role: 'assistant',
        tool_calls: [asked('refund', JSON.stringify({ order }), id)],
      }))
      const [call] = repaired(said([{ rendered_input: messages, output: { content: 'x' } }]))
      t.same(
        call?.rendered_input.map(({ tool_calls }) => tool_calls?.[0]?.function.arguments),
        ['{"currency":"usd","order_id":"o1"}', '{"currency":"usd","order_id":"o2"}'],
      )
    }
  })

  t.test('has single calls of the old style patched, and the answers to them', async (t) => {
    const function_call = { name: 'lookup', arguments: '{"id":"1"}' }
    const record = { tool_name: 'lookup', args: { id: '1' } }
    const [first, second] = repaired(
      said([
        { output: { function_call }, tool_calls: [record] },
        {
          rendered_input: [
            { role: 'assistant', content: null, function_call },
            { role: 'function', name: 'lookup', content: 'lookup' },
          ],
        },
      ]),
    )
    t.same(first?.output, { function_call: { ...function_call, name: 'find' } })
    t.match(second?.rendered_input, [
      { function_call: { name: 'find', arguments: '{"id":"1"}' } },
      { role: 'function', name: 'find', content: 'lookup' },
    ])
  })

  t.test('has calls patched in parts of a content and in items of a response', async (t) => {
    const spoken = (name: string, args: object) => [
      {
        role: 'assistant',
        content: [
          { type: 'text', text: 'I look' },
          { type: 'tool_use', id: 'c1', name, input: args },
        ],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'found' }] },
      { role: 'assistant', type: 'function_call', name, arguments: JSON.stringify(args) },
      { role: 'assistant', output: [{ type: 'function_call', name, arguments: args }] },
    ]
    const record = { tool_name: 'refund', args: { order: 'o1' } }
    const [call] = repaired(
      said([{ rendered_input: spoken('refund', { order: 'o1' }), tool_calls: [record] }]),
    )
    t.same(call?.rendered_input, spoken('refund', { currency: 'usd', order_id: 'o1' }))
    const [renamed] = repaired(
      said([{ rendered_input: spoken('lookup', { id: '1' }), tool_calls: [record] }]),
    )
    t.same(renamed?.rendered_input, spoken('find', { id: '1' }))
  })

  t.test('has arguments that came as values patched as values', async (t) => {
    const [call] = repaired(
      said([{ output: { tool_calls: [asked('refund', { order: 'o1', amount: 3 })] } }]),
    )
    const args = { order_id: 'o1', amount: 3, currency: 'usd' }
    t.match(call?.output, { tool_calls: [asked('refund', args)] })
    t.match(call?.tool_calls, [{ args }])
  })

  t.test('keeps the bytes of what fits, and the results of tools', async (t) => {
    const fitting = asked('refund', '{ "order_id": "o1",  "currency": "eur" }')
    const trace = said([
      {
        rendered_input: [{ role: 'assistant', tool_calls: [fitting] }],
        tool_calls: [{ tool_name: 'lookup', args: { id: '1' }, result: { id: 'lookup' } }],
        output: { content: 'x' },
      },
      { call_role: 'judge', tool_calls: [{ tool_name: 'lookup', args: {} }] },
      { agent_name: 'helper', tool_calls: [{ tool_name: 'lookup', args: {} }] },
    ])
    const calls = repaired(trace)
    t.same(calls[0]?.rendered_input, [{ role: 'assistant', tool_calls: [fitting] }])
    t.match(calls[0]?.tool_calls, [{ tool_name: 'find', result: { id: 'lookup' } }])
    t.same(calls.slice(1), trace.llm_calls.slice(1), 'what others did is no business of the agent')
  })

  t.test('offers tools as the target defines them, in the form they came', async (t) => {
    const target = [
      { ...REFUND_2, schema_json: { ...REFUND_2.schema_json, description: 'Pays back' } },
      FIND,
    ]
    const before = [...BEFORE, tool('gone', { x: string })]
    const old = { type: 'object' }
    const tools = [
      {
        type: 'function',
        function: { name: 'refund', description: 'old', parameters: old, strict: true },
      },
      { name: 'lookup', description: 'Looks', input_schema: old },
      { name: 'lookup', inputSchema: old },
      { name: 'gone', input_schema: old },
      { name: 'mystery', input_schema: old },
      { type: 'web_search' },
    ]
    const [call] = repaired(said([{ tools, tool_calls: [{ tool_name: 'lookup' }] }]), [
      before,
      target,
    ])
    t.same(call?.tools, [
      {
        type: 'function',
        function: {
          name: 'refund',
          description: 'Pays back',
          parameters: REFUND_2.schema_json['input_schema'],
          strict: true,
        },
      },
      { name: 'find', description: 'Looks', input_schema: FIND.schema_json['input_schema'] },
      { name: 'find', inputSchema: FIND.schema_json['input_schema'] },
      { name: 'mystery', input_schema: old },
      { type: 'web_search' },
    ])
  })

  t.test('tells the rules that were used and the tools that are called', async (t) => {
    t.match(apply(traceOf([['refund', { order: 'o1' }]])), {
      kind: 'repaired',
      rules: [1, 2],
      tools_called: ['refund'],
    })
    t.match(apply(traceOf([['lookup', {}]])), { rules: [0], tools_called: ['find'] })
  })
})

t.test('the final output', async (t) => {
  const contract = (properties: object, required: string[]) => [
    component('output_contract', 'answer', { schema: { type: 'object', properties, required } }),
  ]
  const pair: [Component[], Component[]] = [
    contract({ reply: string }, ['reply']),
    contract({ answer: string, tone: { ...string, default: 'calm' } }, ['answer', 'tone']),
  ]
  const given = '{ "reply": "yes" }'
  const patched = '{"answer":"yes","tone":"calm"}'

  t.test('is patched where it was given and where later messages have it', async (t) => {
    const message = { role: 'assistant', content: given }
    const calls = repaired(
      said([
        { output: { content: given } },
        { rendered_input: [message, { role: 'user', content: given }], output: {} },
      ]),
      pair,
    )
    t.same(calls[0]?.output, { content: patched })
    t.same(calls[1]?.rendered_input, [
      { role: 'assistant', content: patched },
      { role: 'user', content: given },
    ])
  })

  t.test('is patched with the answers before it, each from its own text', async (t) => {
    const spoken = (first: string, last: string) => [
      { role: 'user', content: 'hi' },
      { role: 'assistant', content: first },
      { role: 'user', content: 'and?' },
      { role: 'assistant', content: last },
    ]
    const calls = repaired(
      said([
        { rendered_input: spoken('{"reply":"a"}', `${given}\n`), output: { content: given } },
        { rendered_input: spoken('{"thought": 1}', 'plain') },
      ]),
      pair,
    )
    const first = '{"answer":"a","tone":"calm"}'
    t.same(calls[0]?.rendered_input, spoken(first, patched))
    t.same(calls[1]?.rendered_input, spoken('{"thought": 1}', 'plain'), 'no answers')
  })

  t.test('is not patched beside an answer that fits under no rule', async (t) => {
    const loose = [
      contract({ reply: {} }, ['reply'])[0] as Component,
      contract({ reply: string, tone: { default: 'calm' } }, ['reply', 'tone'])[0] as Component,
    ] as const
    const rendered_input = [{ role: 'assistant', content: '{"reply":7}' }]
    const outcome = apply(said([{ rendered_input, output: { content: given } }]), null, [
      [loose[0]],
      [loose[1]],
    ])
    t.match(outcome, { kind: 'failed', code: 'left_unfit', fitting: [] })
  })

  t.test('in parts becomes one part, beside those without text', async (t) => {
    const content = [
      { type: 'text', text: '{"reply":' },
      { type: 'image_url', image_url: 'x' },
      { type: 'text', text: '"yes"}' },
    ]
    const [call] = repaired(said([{ output: { content } }]), pair)
    t.same(call?.output, { content: [{ type: 'text', text: patched }, content[1]] })
  })

  t.test('that is a refusal stays one', async (t) => {
    const [call] = repaired(said([{ output: { content: null, refusal: given } }]), pair)
    t.same(call?.output, { content: null, refusal: patched })
  })

  t.test('is patched where only the messages have it', async (t) => {
    const rendered_input = [{ role: 'assistant', content: given }]
    const [call] = repaired(said([{ rendered_input }]), pair)
    t.same(call?.rendered_input, [{ role: 'assistant', content: patched }])
  })

  t.test('is not patched where only a preview tells it', async (t) => {
    t.match(apply(traceOf([], { final_output_preview: given }), null, pair), {
      kind: 'failed',
      code: 'left_unfit',
      rules: [0, 1],
      fitting: [],
    })
  })

  t.test('of a run that failed stays as it is', async (t) => {
    const trace = said([{ output: { content: given } }], { status: 'error' })
    t.same(apply(trace, null, pair), { kind: 'ineligible' })
  })
})

t.test('no repair is made', async (t) => {
  t.test('of what fits, or fits under no rule', async (t) => {
    t.same(apply(traceOf([['refund', { order_id: 'o1', currency: 'usd' }]])), {
      kind: 'ineligible',
    })
    t.same(apply(traceOf([['refund', { amount: 'x' }]])), { kind: 'ineligible' })
  })

  t.test('by a rule that is not approved', async (t) => {
    const trace = traceOf([['refund', { order: 'o1' }]])
    t.same(apply(trace, []), { kind: 'skipped', needs: [1, 2] })
    t.same(apply(trace, [0, 2]), { kind: 'skipped', needs: [1] })
    t.equal(apply(trace, [1, 2]).kind, 'repaired')
  })

  t.test('in part: a call in the messages that fits under no rule', async (t) => {
    const before = [...BEFORE, tool('gone', { x: string })]
    const trace = (name: string, args: unknown) =>
      said([
        { rendered_input: [{ role: 'assistant', tool_calls: [asked(name, args)] }] },
        { tool_calls: [{ tool_name: 'lookup' }, { tool_name: 'refund', args: { order: 'o1' } }] },
      ])
    const cases = [
      ['gone', '{"x":"y"}', 'tool_missing', [0, 1, 2]],
      ['refund', '{"order": 7}', 'tool_schema_incompatible', [0]],
      ['refund', 'no JSON', 'tool_schema_incompatible', [0]],
    ] as const
    for (const [name, args, code, fitting] of cases) {
      const outcome = apply(trace(name, args), null, [before, AFTER])
      t.match(outcome, { kind: 'failed', code, rules: [0, 1, 2] })
      t.same('fitting' in outcome && outcome.fitting, fitting, 'rules of other tools fit')
    }
  })

  t.test('in part: a call in a part or an item that fits under no rule', async (t) => {
    const before = [...BEFORE, tool('gone', { x: string })]
    for (const content of [
      [{ type: 'tool_use', name: 'gone', input: {} }],
      [{ type: 'function_call', name: 'gone', arguments: '{}' }],
    ]) {
      const rendered_input = [{ role: 'assistant', content }]
      const trace = said([{ rendered_input, tool_calls: [{ tool_name: 'lookup' }] }])
      t.match(apply(trace, null, [before, AFTER]), { kind: 'failed', code: 'tool_missing' })
    }
  })

  t.test('of calls that only spans tell of', async (t) => {
    const spans = [{ span_type: 'tool', name: 'lookup', attributes: { args: { id: '1' } } }]
    t.match(apply(traceOf([], { spans })), {
      kind: 'failed',
      code: 'left_unfit',
      message: /tool_renamed lookup/,
      fitting: [],
    })
  })

  t.test('where a number would come out as another one', async (t) => {
    const trace = (args: string) => said([{ output: { tool_calls: [asked('refund', args)] } }])
    t.match(apply(trace('{"order": "o1", "amount": 1234567890123456789}')), {
      kind: 'failed',
      code: 'not_writable',
    })
    const [call] = repaired(trace('{"order": "1234567890123456789"}'))
    t.match(call?.output, {
      tool_calls: [asked('refund', '{"currency":"usd","order_id":"1234567890123456789"}')],
    })
  })

  t.test('that would make a trace many times as large', async (t) => {
    const value = 'x'.repeat(60_000)
    const after = tool('refund', { order: string, note: { default: value } }, ['note'])
    const made = Array.from({ length: 1000 }, () => asked('refund', '{}'))
    const trace = said([{ output: { tool_calls: made }, tool_calls: [{ tool_name: 'refund' }] }])
    t.match(apply(trace, null, [[REFUND], [after]]), { kind: 'failed', code: 'too_large' })
  })

  t.test('of the given trace itself', async (t) => {
    const trace = traceOf([['refund', { order: 'o1' }]])
    const before = structuredClone(trace)
    apply(trace)
    t.same(trace, before)
  })
})

t.test('10,000 repairs of traces in every style between changes of every kind', async (t) => {
  const rules = new Map<string, number>()
  const places = new Map<string, number>()
  const outcomes = new Map<string, number>()
  const count = (counts: Map<string, number>, key: string) =>
    counts.set(key, (counts.get(key) ?? 0) + 1)

  const check = (trace: Trace, plans: Plans) => {
    const outcome = applyRepair(trace, plans.repair, null)
    const decision = classify(trace, plans.transition)
    const listed = plans.listed.map(({ rule }) => JSON.stringify(rule))
    for (const rule of decision.repair_rules) assert.ok(listed.includes(JSON.stringify(rule)))
    count(outcomes, outcome.kind === 'failed' ? outcome.code : outcome.kind)
    assert.equal(outcome.kind === 'ineligible', decision.verdict !== 'repair')
    if (outcome.kind !== 'repaired') return
    const patched = reread(trace, outcome.content)
    assert.equal(classify(patched, plans.transition).verdict, 'keep')
    assert.equal(classify(patched, plans.toItself).verdict, 'keep')
    assert.equal(applyRepair(patched, plans.repair, null).kind, 'ineligible')
    assert.equal(JSON.stringify(patched.spans), JSON.stringify(trace.spans))
    for (const index of outcome.rules) count(rules, plans.listed[index]?.rule_type ?? 'none')
    checkPlaces(trace, patched, plans)
  }

  const checkPlaces = (trace: Trace, patched: Trace, { inputs, renames, contracts }: Plans) => {
    const own = new Set(ownCalls(trace))
    for (const [i, call] of trace.llm_calls.entries()) {
      const now = patched.llm_calls[i]
      assert.ok(now)
      if (!own.has(call)) {
        assert.deepEqual(now, call)
        continue
      }
      const [old, fresh] = [placesOf(call), placesOf(now)]
      assert.equal(fresh.length, old.length)
      for (const [j, { place, tool: name, args }] of old.entries()) {
        const is = fresh[j]
        assert.ok(is)
        assert.equal(is.tool, renames.get(name) ?? name)
        const fits = inputs.get(is.tool)
        if (!fits) assert.deepEqual(is.args, args)
        else {
          assert.deepEqual(fits(parsed(is.args)), [], `${place} ${JSON.stringify(is.args)}`)
          if (fits(parsed(args))?.length === 0) assert.deepEqual(is.args, args)
          assert.equal(typeof is.args, typeof args)
        }
        if (JSON.stringify(is) !== JSON.stringify(old[j])) count(places, place)
      }
      for (const [j, { role, content, name }] of call.rendered_input.entries()) {
        const message: Message | undefined = now.rendered_input[j]
        if (typeof content === 'string' && role === 'assistant') {
          const text: string = String(message?.content)
          const isAnswer = isOf(content, contracts.old)
          if (isAnswer) assert.ok(isOf(text, contracts.now) ?? true, text)
          if (!isAnswer || isOf(content, contracts.now)) assert.equal(text, content)
          else if (text !== content) count(places, 'earlier answer')
        }
        if (role !== 'assistant') assert.deepEqual(message?.content, content)
        if (role !== 'tool' && role !== 'function') continue
        assert.equal(message?.name, renames.get(name ?? '') ?? name)
        if (message?.name !== name) count(places, role)
      }
      for (const offered of now.tools) assert.ok(!renames.has(String(offered['name'])))
      if (JSON.stringify(now.tools) !== JSON.stringify(call.tools)) count(places, 'tools')
      if (JSON.stringify(now.output['content']) !== JSON.stringify(call.output['content'])) {
        count(places, Array.isArray(call.output['content']) ? 'content parts' : 'content')
      }
    }
  }

  fc.assert(
    fc.property(
      manifestPairs(),
      fc.array(sentTraces(), { minLength: 100, maxLength: 100 }),
      ({ before, after }, sent) => {
        const plans = plansOf(before, after)
        for (const each of sent) check(read(each), plans)
      },
    ),
    { numRuns: 100 },
  )
  for (const rule of ['rename_tool', 'rename_param', 'drop_param', 'add_default', 'coerce']) {
    t.ok((rules.get(rule) ?? 0) > 20, `${rule} is used ${rules.get(rule)} times`)
  }
  const styles = ['', ' in the old style', ' as tool_use', ' as function_call']
  const all = ['record', ...styles.flatMap((style) => [`output${style}`, `message${style}`])]
  for (const place of [
    ...all,
    'tool',
    'function',
    'tools',
    'content',
    'content parts',
    'earlier answer',
  ]) {
    t.ok((places.get(place) ?? 0) > 20, `${place} is patched ${places.get(place)} times`)
  }
  for (const kind of ['repaired', 'ineligible', 'left_unfit', 'tool_schema_incompatible']) {
    t.ok((outcomes.get(kind) ?? 0) > 0, `${kind} is the outcome ${outcomes.get(kind)} times`)
  }
})

function plansOf(before: Manifest, after: Manifest) {
  const transition = planTransition(before, after, compile)
  const tools = [...transition.tools].filter(
    ([, plan]) => plan.kind === 'renamed' || plan.kind === 'changed',
  )
  return {
    transition,
    repair: planRepair(transition, after),
    toItself: planTransition(after, after, compile),
    listed: listRepairRules(before, after),
    renames: new Map(
      tools.flatMap(([name, plan]) => (plan.kind === 'renamed' ? [[name, plan.rule.to]] : [])),
    ),
    contracts: { old: contractOf(before), now: contractOf(after) },
    /** Of the tools that changed, by their new names. */
    inputs: new Map(
      after.components.flatMap(({ component_type, component_name, schema_json }) => {
        const isChanged = transition.tools.has(component_name)
        if (component_type !== 'tool' || !isChanged) return []
        return [[component_name, compile(schema_json['input_schema'] as JsonSchema)] as const]
      }),
    ),
  }
}

function contractOf({ components }: Manifest) {
  const found = components.find(({ component_type }) => component_type === 'output_contract')
  return found && compile(found.schema_json['schema'] as JsonSchema)
}

/** Undefined where there is no contract. */
function isOf(text: string, contract: ReturnType<typeof contractOf>) {
  return contract && contract(parseJson(text))?.length === 0
}

/** Every call of an LLM call, wherever it stands. */
function placesOf({ rendered_input, output, tool_calls }: LlmCall): Place[] {
  const inMessage = (message: Record<string, unknown>, place: string): Place[] => {
    const { tool_calls: calls = [], function_call: single, content, output } = message as Said
    const items = [content, output].flatMap((list) => (Array.isArray(list) ? list : []))
    return [
      ...items.flatMap(({ type, name = '', input, arguments: args }) =>
        type === 'tool_use' || type === 'function_call'
          ? [{ place: `${place} as ${type}`, tool: name, args: type === 'tool_use' ? input : args }]
          : [],
      ),
      ...calls.map((call) => ({
        place,
        tool: call.function.name,
        args: call.function.arguments,
      })),
      ...(single
        ? [{ place: `${place} in the old style`, tool: single.name, args: single.arguments }]
        : []),
    ]
  }
  return [
    ...tool_calls.map(({ tool_name, args }) => ({ place: 'record', tool: tool_name, args })),
    ...inMessage(output, 'output'),
    ...rendered_input.flatMap((message) => inMessage(message, 'message')),
  ]
}

function parsed(args: unknown): unknown {
  return typeof args === 'string' ? JSON.parse(args) : args
}

function read(sent: unknown): Trace {
  const json = JSON.stringify(sent)
  const found = readTrace(JSON.parse(json), { traceId: () => 't', now: new Date(0) })
  if ('faults' in found) throw new Error(JSON.stringify(found.faults))
  return found.trace
}

/** The trace with a patched content, and the previews that this content has. */
function reread(trace: Trace, content: Pick<Trace, 'spans' | 'llm_calls'>): Trace {
  return read({ ...trace, ...content, final_output_preview: null })
}

type Plans = ReturnType<typeof plansOf>
interface Place {
  place: string
  tool: string
  args: unknown
}
interface Said {
  tool_calls?: { function: { name: string; arguments: unknown } }[]
  function_call?: { name: string; arguments: unknown }
  content?: Item[] | string
  output?: Item[]
}
interface Item {
  type: string
  name?: string
  input?: unknown
  arguments?: unknown
}
