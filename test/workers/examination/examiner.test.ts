import t from 'tap'
import { setImmediate, setTimeout } from 'node:timers/promises'
import type { Worker } from 'node:worker_threads'
import { zstdCompressSync } from 'node:zlib'
import { toTraceRow } from '../../../jobs/rules/traces/trace-row.ts'
import type { Component } from '../../../jobs/rules/manifests/manifest.ts'
import type { ExaminationRequest } from '../../../workers/examination/examination.ts'
import { examine as examineFor, openExaminer } from '../../../workers/examination/examiner.ts'
import { silentMeter } from '../../../workers/runtime/meter.ts'
import { component, manifest, tool, traceOf } from '../../support/manifests.ts'

const ignore = () => undefined
const silentLog = { info: ignore, warn: ignore, error: ignore }
const string = { type: 'string' }
let serial = 0
const stored = (...components: Component[]) => ({ id: `m${++serial}`, ...manifest(...components) })
const closed = (...args: Parameters<typeof traceOf>) => ({
  ...toTraceRow(traceOf(...args), 'shared'),
  given_up: false,
})
/** Traces that were given up, by organization. */
const log: { org_id: string; trace_id: string }[] = []
const run = (orgId: string) => ({
  orgId,
  log: { ...silentLog, error: (fields: object) => void log.push(fields as (typeof log)[0]) },
  meter: silentMeter,
})
const examine = (request: ExaminationRequest, orgId = 'org') => examineFor(run(orgId), request)

t.test('the examiner', async (t) => {
  t.test('opens traces and tells fit, violations and edges', async (t) => {
    const before = stored(tool('a', { x: string }, ['x']))
    const after = stored(tool('a', { y: string }, ['y']))
    const traces = [
      closed([['a', { x: 'v' }]]),
      closed([['a', {}]], { spans: [{ span_type: 'handoff', name: 'handoff to billing' }] }),
    ]
    const request = { manifest: before, target: after, traces } as const
    t.match(await examine({ ...request, wants: 'all' }), [
      { compatibility: { verdict: 'repair' }, violations: [], edges: [] },
      {
        compatibility: { verdict: 'replay' },
        violations: [{ kind: 'tool_args_invalid' }],
        edges: [{ child: 'billing' }],
      },
    ])
    const [, second] = await examine({ ...request, wants: 'compatibility' })
    t.match(second, { compatibility: { verdict: 'replay' }, violations: [], edges: [] })
    const alone = await examine({ manifest: null, target: null, wants: 'all', traces })
    t.match(alone[1], { compatibility: null, violations: [], edges: [{ child: 'billing' }] })
  })

  const hostile: [title: string, before: object, after: object, args: object][] = [
    [
      'a pattern that backtracks for ever',
      { x: string },
      { x: { type: 'string', pattern: '^(a+)+$' } },
      { x: `${'a'.repeat(40)}!` },
    ],
    ['references that fan out at every level', { x: {} }, { x: { $ref: '#/$defs/l0' } }, { x: 1 }],
  ]
  for (const [title, before, after, args] of hostile) {
    t.test(`outlives ${title}, which then cannot be told`, async (t) => {
      const input_schema = { type: 'object', properties: after, $defs: fanOut(40) }
      const request = {
        manifest: stored(tool('evil', before), tool('good', { n: { type: 'integer' } })),
        target: stored(
          component('tool', 'evil', { input_schema }),
          tool('good', { n: { type: 'integer', maximum: 5 } }),
        ),
        wants: 'compatibility' as const,
      }
      const traces = [
        closed([['good', { n: 9 }]]),
        closed([['evil', args]]),
        closed([['evil', args]]),
      ]
      const other = { ...request, manifest: stored(), target: stored(), traces: [closed([])] }
      const [found, others] = await Promise.all([examine({ ...request, traces }), examine(other)])
      t.match(found, [
        { compatibility: { verdict: 'replay', reasons: [{ code: 'tool_schema_incompatible' }] } },
        { compatibility: { verdict: 'replay', reasons: [{ code: 'tool_schema_unverifiable' }] } },
        { compatibility: { reasons: [{ code: 'tool_schema_unverifiable' }] } },
      ])
      t.match(others, [{ compatibility: { verdict: 'keep' } }], 'the work of others is done, too')
      let threads = 0
      const count = () => threads++
      process.on('worker', count)
      t.same(await examine({ ...request, traces }), found)
      process.off('worker', count)
      t.equal(threads, 0, 'from then on it costs no thread')
    })
  }

  t.test('gives up no trace when the thread cannot start', async (t) => {
    const manifest = stored(tool('a', { x: string }, ['x']))
    const traces = [closed([['a', { x: 'v' }]])]
    const request = { manifest, target: null, wants: 'all', traces } as const
    await t.rejects(examineFor(run('org'), request, openExaminer(6)), /did not start/)
    t.same(log, [])
  })

  t.test('holds no time against a schema that the processor had for others', async (t) => {
    let thread: Worker | undefined
    let hasEnded = false
    process.once('worker', (made: Worker) => {
      thread = made
      made.cpuUsage = async () => ({ user: 0, system: 0 })
      made.once('exit', () => (hasEnded = true))
    })
    const examined = examineFor(
      run('org'),
      {
        manifest: stored(tool('evil', { x: string })),
        target: stored(tool('evil', { x: { type: 'string', pattern: '^(a+)+$' } })),
        wants: 'compatibility',
        traces: [closed([['evil', { x: `${'a'.repeat(40)}!` }]])],
      },
      openExaminer(64),
    )
    await setTimeout(6000)
    t.ok(thread)
    t.notOk(hasEnded)
    Reflect.deleteProperty(thread ?? {}, 'cpuUsage')
    t.match(await examined, [
      { compatibility: { reasons: [{ code: 'tool_schema_unverifiable' }] } },
    ])
  })

  t.test('cannot tell by a schema that takes too long for each of many', async (t) => {
    const examined = await examine({
      manifest: stored(tool('slow', { x: string })),
      target: stored(tool('slow', { x: { type: 'string', pattern: '^(a+)+$' } })),
      wants: 'compatibility',
      traces: Array.from({ length: 600 }, () => closed([['slow', { x: `${'a'.repeat(22)}!` }]])),
    })
    t.match(examined[0]?.compatibility?.reasons, [{ code: 'tool_schema_incompatible' }])
    t.match(examined.at(-1)?.compatibility?.reasons, [{ code: 'tool_schema_unverifiable' }])
  })

  t.test('gives up no trace that was not begun when its thread ended', async (t) => {
    const manifest = stored(tool('a', { x: string }, ['x']))
    const fine = closed([['a', { x: 'v' }]])
    const poison = { ...fine, trace_id: 'poison', content: contentOf(100_000) }
    let threads = 0
    const endThird = (thread: Worker) => {
      if (++threads === 3) thread.postMessage = () => void thread.terminate()
    }
    process.on('worker', endThird)
    const traces = [poison, fine, fine]
    const request = { manifest, target: null, wants: 'all', traces } as const
    await t.rejects(examineFor(run('org'), request, openExaminer(36)), /did not start/)
    process.off('worker', endThird)
    t.equal(threads, 3, 'the one that examined the first fine trace was not there for the second')
    t.same(log, [])
  })

  t.test('gives up a trace that ends the thread twice, and nothing beside it', async (t) => {
    const before = stored(tool('a', { x: string }, ['x']))
    const after = stored(tool('a', { y: string }, ['y']))
    const fine = closed([['a', { x: 'v' }]])
    const poison = { ...fine, trace_id: 'poison', content: contentOf(100_000) }
    const small = openExaminer(36)
    const examine = (request: ExaminationRequest, orgId = 'org') =>
      examineFor(run(orgId), request, small)
    const request = { manifest: before, target: after, wants: 'all' } as const
    let threads = 0
    const count = () => threads++
    process.on('worker', count)
    const [found, others, late] = await Promise.all([
      examine({ ...request, traces: [fine, poison, fine] }, 'guilty'),
      examine({ ...request, manifest: after, target: before, traces: [fine] }),
      setImmediate().then(() => examine({ ...request, traces: [fine] })),
    ])
    const good = { compatibility: { verdict: 'repair' }, violations: [], given_up: false }
    t.match(found, [
      good,
      {
        compatibility: { verdict: 'drop', reasons: [{ code: 'trace_not_examinable' }] },
        violations: [{ kind: 'trace_not_examinable' }],
        given_up: true,
      },
      good,
    ])
    t.match(others, [{ violations: [{ kind: 'tool_args_invalid' }], given_up: false }])
    t.match(late, [good])
    t.equal(threads, 3, 'it ended one beside others, and one alone')
    t.same(log, [{ org_id: 'guilty', trace_id: 'poison' }])

    const known = { ...poison, given_up: true }
    const [again] = await examine({ ...request, traces: [known, fine] })
    process.off('worker', count)
    t.match(again, { violations: [{ kind: 'trace_not_examinable' }], given_up: true })
    t.equal(threads, 3, 'once it is known it is not opened again')
    t.equal(log.length, 1)
  })

  t.test('does not even open a content whose values would take all memory', async (t) => {
    const content = zstdCompressSync(`{"spans":[${'{},'.repeat(12e6)}{}],"llm_calls":[]}`)
    const request = { manifest: null, target: null, wants: 'all' } as const
    const traces = [{ ...closed([]), content }, closed([])]
    const before = log.length
    t.match(await examine({ ...request, traces }), [
      { compatibility: null, violations: [{ kind: 'trace_not_examinable' }], given_up: true },
      { violations: [], given_up: false },
    ])
    t.equal(log.length, before + 1)
  })

  t.test('takes no remote schema, and none that contradicts itself', async (t) => {
    const schemas = [
      { $ref: 'https://example.com/schema.json' },
      { $ref: 'http://169.254.169.254/latest' },
      { type: 'nonsense' },
      { $ref: '#' },
      { pattern: '(' },
    ]
    for (const schema of schemas) {
      const [found] = await examine({
        manifest: stored(tool('a', { x: string })),
        target: stored(component('tool', 'a', { input_schema: schema })),
        wants: 'compatibility',
        traces: [closed([['a', { x: 'v' }]])],
      })
      t.match(
        found?.compatibility?.reasons,
        [{ code: 'tool_schema_unverifiable' }],
        JSON.stringify(schema),
      )
    }
  })

  t.test('lets no schema see another one', async (t) => {
    const named = { $id: 'https://example.com/mine', type: 'object', required: ['secret'] }
    const request = { wants: 'compatibility' as const, traces: [closed([['b', {}]])] }
    const found = await examine({
      ...request,
      manifest: stored(tool('a', {}), tool('b', { x: string })),
      target: stored(
        component('tool', 'a', { input_schema: named }),
        component('tool', 'b', { input_schema: { $ref: 'https://example.com/mine' } }),
      ),
    })
    t.match(found[0]?.compatibility?.reasons, [{ code: 'tool_schema_unverifiable' }])
  })
})

/** A content of that many spans which hand over to another agent each. */
function contentOf(spanCount: number) {
  const spans = Array.from({ length: spanCount }, (_, i) => ({
    span_type: 'handoff',
    name: `handoff to ${i}`,
    attributes: {},
  }))
  return zstdCompressSync(JSON.stringify({ spans, llm_calls: [] }))
}

/** Definitions of which each asks the next one twice. */
function fanOut(levels: number) {
  const entries = Array.from({ length: levels }, (_, i) => {
    const next = { $ref: `#/$defs/l${i + 1}` }
    return [`l${i}`, { allOf: [next, next] }]
  })
  return { ...Object.fromEntries(entries), [`l${levels}`]: { type: 'integer' } }
}
