import t from 'tap'
import { createHash } from 'node:crypto'
import { zstdCompressSync } from 'node:zlib'
import { contentText, decodeContent } from '../../../jobs/rules/traces/content.ts'
import { toTraceRow } from '../../../jobs/rules/traces/trace-row.ts'
import type { Component } from '../../../jobs/rules/manifests/manifest.ts'
import { examine, openExaminer, repairTraces } from '../../../workers/examination/examiner.ts'
import type { Repair, RepairRequest } from '../../../workers/examination/repair.ts'
import { silentMeter } from '../../../workers/runtime/meter.ts'
import { component, manifest, tool, traceOf } from '../../support/manifests.ts'

const string = { type: 'string' }
const ignore = () => undefined
let serial = 0
const stored = (...components: Component[]) => ({ id: `r${++serial}`, ...manifest(...components) })
const closed = (...args: Parameters<typeof traceOf>) => ({
  ...toTraceRow(traceOf(...args), 'shared'),
  given_up: false,
})
/** Traces that were given up. */
const log: string[] = []
const run = {
  orgId: 'org',
  log: {
    info: ignore,
    warn: ignore,
    error: (fields: object) => void log.push((fields as { trace_id: string }).trace_id),
  },
  meter: silentMeter,
  contentForm: 'shared',
} as const
const repair = (request: Partial<RepairRequest> & Pick<RepairRequest, 'traces'>) =>
  repairTraces(run, { ...RENAMING, approved: null, wants: 'content', ...request })

const RENAMING = {
  manifest: stored(tool('lookup', { id: string }), tool('pay', { sum: { type: 'integer' } })),
  target: stored(tool('find', { id: string }), tool('pay', { sum: string }, ['sum'])),
}

t.test('traces are repaired in the thread that runs schemas', async (t) => {
  t.test('each with a content boxed like that of a trace', async (t) => {
    const traces = [closed([['lookup', { id: '1' }]]), closed([])]
    const [found, other] = await repair({ traces })
    t.same(other, { kind: 'ineligible' })
    const { content, content_hash, ...told } = repaired(found)
    t.same(told, { kind: 'repaired', rules: [0], tools_called: ['find'], shown: null })
    const text = contentText(decodeContent(content))
    t.same(Buffer.from(content_hash), createHash('sha256').update(text).digest())
    t.match(decodeContent(content).llm_calls, [{ tool_calls: [{ tool_name: 'find' }] }])
    const [again] = await repair({ traces })
    t.same(repaired(again).content_hash, content_hash, 'equal repairs have equal hashes')
  })

  t.test('by the rules that are approved', async (t) => {
    const traces = [closed([['lookup', {}]]), closed([['pay', { sum: 3 }]])]
    t.match(await repair({ traces, approved: [1] }), [
      { kind: 'skipped', needs: [0] },
      { kind: 'repaired', rules: [1] },
    ])
  })

  t.test('with what differs shown in a preview, and nothing else', async (t) => {
    const message = (name: string) => ({
      role: 'assistant',
      content: 'x'.repeat(3000),
      tool_calls: [{ function: { name, arguments: '{}' } }],
    })
    const rendered_input = [{ role: 'user', content: 'hi' }, message('lookup')]
    const traces = [
      closed([], {
        llm_calls: [
          { rendered_input, tool_calls: [{ tool_name: 'lookup', result: 'secret' }] },
          { rendered_input, output: { content: 'done' } },
        ],
      }),
    ]
    const [found] = await repair({ traces, wants: 'preview' })
    const side = (name: string) => ({
      messages: [{ ...message(name), content: 'x'.repeat(2000) }],
      tool_calls: [{ id: null, tool_name: name, args: {} }],
    })
    t.same(repaired(found).shown, { before: side('lookup'), after: side('find') })
  })

  t.test('with a preview that shows the first difference however late it comes', async (t) => {
    const long = 'y'.repeat(3000)
    const sent = [
      { llm_calls: [{ tool_calls: [{ tool_name: 'pay', args: { a: long, b: long, sum: 3 } }] }] },
      {
        llm_calls: [
          {
            output: {
              content: [
                { type: 'text', text: long },
                { type: 'text', text: long },
              ],
              tool_calls: [{ function: { name: 'pay', arguments: `{"a":"${long}","sum":3}` } }],
            },
          },
        ],
      },
    ]
    for (const each of sent) {
      const [found] = await repair({ traces: [closed([], each)], wants: 'preview' })
      const { shown } = repaired(found)
      for (const list of ['messages', 'tool_calls'] as const) {
        t.equal(shown?.before[list].length, shown?.after[list].length)
        for (const [i, item] of (shown?.before[list] ?? []).entries()) {
          t.strictNotSame(item, shown?.after[list][i])
          t.ok(JSON.stringify(item).includes('3'), 'the value that became text')
        }
      }
      t.ok(JSON.stringify(shown).includes('sum'))
    }
  })

  t.test('with a preview of at most 32,000 characters', async (t) => {
    const args = { id: '1', more: Array.from({ length: 5000 }, () => ({ text: 'y'.repeat(20) })) }
    const traces = [closed(Array.from({ length: 40 }, () => ['lookup', args] as const))]
    const [found] = await repair({ traces, wants: 'preview' })
    const { shown } = repaired(found)
    const text = JSON.stringify(shown)
    t.ok(text.length > 4000 && text.length < 33_000, `${text.length} characters`)
    t.equal(shown?.before.tool_calls.length, shown?.after.tool_calls.length)
  })

  t.test('in the form of the process, with the hash of what the content says', async (t) => {
    const call = { rendered_input: [{ role: 'user', content: 'Hi' }], tools: [{ name: 'lookup' }] }
    const tool_calls = [{ tool_name: 'lookup', args: { id: '1' } }]
    const traces = [closed([], { llm_calls: [{ ...call, tool_calls }, call] })]
    for (const [contentForm, first] of [
      ['whole', 0x28],
      ['shared', 1],
    ] as const) {
      const request = { ...RENAMING, approved: null, wants: 'content', traces } as const
      const [found] = await repairTraces({ ...run, contentForm }, request)
      const { content, content_hash } = repaired(found)
      t.equal(content[0], first)
      const text = contentText(decodeContent(content))
      t.same(Buffer.from(content_hash), createHash('sha256').update(text).digest())
    }
  })

  t.test('and those that share more values than may be patched are compared', async (t) => {
    const message = { role: 'user', content: Array.from({ length: 1000 }, (_, i) => i) }
    const calls = (tool_name: string) =>
      Array.from({ length: 1010 }, (_, i) => ({
        rendered_input: [message],
        tool_calls: i === 0 ? [{ tool_name, args: { id: '1' } }] : [],
      }))
    const traces = ['lookup', 'other'].map((name) => closed([], { llm_calls: calls(name) }))
    t.ok((traces[0]?.content.length ?? 0) < 100_000)
    t.same(await repair({ traces }), [{ kind: 'given_up' }, { kind: 'ineligible' }])
    t.equal(log.splice(0).length, 1)
  })

  t.test('but for those with a million values, which are compared', async (t) => {
    const answers = Array.from({ length: 1_000_100 }, (_, i) => i)
    const withMany = (tool_name: string) =>
      closed([], { llm_calls: [{ tool_calls: [{ tool_name, args: {}, result: answers }] }] })
    t.same(await repair({ traces: [withMany('lookup'), withMany('other')] }), [
      { kind: 'given_up' },
      { kind: 'ineligible' },
    ])
    t.equal(log.splice(0).length, 1)
  })

  const fanOut = Object.fromEntries(
    Array.from({ length: 40 }, (_, i) => {
      const next = { $ref: `#/$defs/l${i + 1}` }
      return [`l${i}`, { allOf: [next, next] }]
    }),
  )
  t.test('of no tool whose schema takes for ever, and beside it the others', async (t) => {
    const evil = component('tool', 'evil', {
      input_schema: {
        type: 'object',
        properties: { x: { $ref: '#/$defs/l0' } },
        $defs: { ...fanOut, l40: { type: 'integer' } },
      },
    })
    const pair = {
      manifest: stored(tool('evil', { x: {} }), tool('lookup', { id: string })),
      target: stored(evil, tool('find', { id: string })),
    }
    const message = { role: 'assistant', tool_calls: [{ function: asked('evil', '{"x":1}') }] }
    const history = [
      { rendered_input: [message] },
      { rendered_input: [message], tool_calls: [{ tool_name: 'lookup' }] },
    ]
    const traces = [
      closed([['lookup', {}]]),
      closed([['evil', { x: 1 }]]),
      closed([], { llm_calls: history }),
    ]
    const found = await repair({ ...pair, traces })
    t.match(found, [
      { kind: 'repaired', tools_called: ['find'] },
      { kind: 'ineligible' },
      { kind: 'failed', code: 'tool_schema_unverifiable', rules: [0], fitting: [0] },
    ])
    let threads = 0
    const count = () => threads++
    process.on('worker', count)
    t.same(await repair({ ...pair, traces }), found)
    process.off('worker', count)
    t.equal(threads, 0, 'from then on it costs no thread')
  })

  t.test('but for one that ends the thread, which alone is given up', async (t) => {
    const fine = closed([['lookup', { id: '1' }]])
    // What is made of so many answers of a tool takes more memory than reading them.
    const answers = Array.from({ length: 300_000 }, () => ({ role: 'tool', name: 'lookup' }))
    const { spans, llm_calls } = traceOf([['lookup', {}]])
    const calls = llm_calls.map((call) => ({ ...call, rendered_input: answers }))
    const text = JSON.stringify({ spans, llm_calls: calls })
    const poison = { ...fine, trace_id: 'poison', content: zstdCompressSync(text) }
    const small = openExaminer(36)
    const request = { ...RENAMING, approved: null, wants: 'content' } as const
    const examination = { ...RENAMING, wants: 'compatibility', traces: [fine] } as const
    let threads = 0
    const count = () => threads++
    process.on('worker', count)
    const [found, examined] = await Promise.all([
      repairTraces(run, { ...request, traces: [fine, poison, fine] }, small),
      examine(run, examination, small),
    ])
    t.match(found, [{ kind: 'repaired' }, { kind: 'given_up' }, { kind: 'repaired' }])
    t.match(examined, [{ compatibility: { verdict: 'repair' }, given_up: false }])
    t.equal(threads, 3, 'it ended one beside others, and one alone')
    t.same(log, ['poison'])
    const known = { ...poison, given_up: true }
    const again = await repairTraces(run, { ...request, traces: [known, fine] }, small)
    process.off('worker', count)
    t.equal(threads, 3, 'once it is known it is not opened again')
    t.match(again, [{ kind: 'ineligible' }, { kind: 'repaired' }], 'its verdict is drop')
  })
})

function repaired(found: Repair | undefined) {
  if (found?.kind !== 'repaired') throw new Error(JSON.stringify(found))
  return found
}

function asked(name: string, args: string) {
  return { name, arguments: args }
}
