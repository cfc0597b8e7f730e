// How fast the traces of an old manifest are analysed against a new one, in one job, and how much memory
// that takes, beside the pure rule on traces that are open in memory already:
// [DATABASE_URL=...] node ops/bench/compatibility.ts [--traces 100000] [--seed 1] [--smoke]
// Rates are by the clock and by the seconds of CPU the worker process (or the rule) was given, which say
// the same on a machine that has nothing else to do.
// Memory is read from /proc.
import { readFile } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import { zstdDecompressSync } from 'node:zlib'
import { uniformInt } from 'pure-rand/distribution/uniformInt'
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus'
import { applyRepair } from '../../jobs/rules/manifests/apply-repair.ts'
import { planTransition } from '../../jobs/rules/manifests/compat-plan.ts'
import type { VerdictCounts } from '../../jobs/rules/manifests/compat-tally.ts'
import { classify } from '../../jobs/rules/manifests/compatibility.ts'
import { readComponents } from '../../jobs/rules/manifests/manifest-components.ts'
import { planRepair } from '../../jobs/rules/manifests/repair-plan.ts'
import { decodeContent } from '../../jobs/rules/traces/content.ts'
import { toTraceRow } from '../../jobs/rules/traces/trace-row.ts'
import { readTrace } from '../../jobs/rules/traces/read-trace.ts'
import type { Trace, TraceContent } from '../../jobs/rules/traces/trace.ts'
import type { Sql } from '../../sql/core/db.ts'
import { insertTraces } from '../../sql/traces/trace-inserts.ts'
import { schemaCompiler } from '../../workers/examination/schema-compiler.ts'
import { median, peakMiB, print, report, round, whole } from './figures.ts'
import { readOptions } from './options.ts'
import { openBenchFolder, withBenchDatabase } from './prepare.ts'
import type { Bench } from './prepare.ts'
import { startService } from './service.ts'

const string = { type: 'string' }
const BEFORE = [
  tool('search', { q: string, limit: { type: 'integer' } }, ['q']),
  tool('refund', { order: string, amount: { type: 'number' } }, ['order']),
  tool('lookup', { id: string }, ['id']),
  tool('mail', { to: string, body: string }, ['to']),
  tool('cancel', { order: string, reason: string }, ['order']),
]
/** Concerns every trace. */
const WIDE = [
  tool('search', { q: string, limit: { type: 'integer', maximum: 50 } }, ['q']),
  tool(
    'refund',
    { order_id: string, amount: { type: 'number' }, currency: { ...string, default: 'usd' } },
    ['order_id', 'currency'],
    { additionalProperties: false },
  ),
  tool('find', { id: string }, ['id']),
  tool('mail', { to: { type: 'array', items: string }, body: string }, ['to']),
  tool('cancel', { order: string, reason: string }, ['order']),
]
/** Concerns a quarter of them. */
const NARROW = [
  ...BEFORE.filter(({ component_name }) => component_name !== 'cancel'),
  tool('cancel', { order: string, cause: string }, ['order', 'cause']),
]

const options = readOptions({ traces: [100_000, 300], seed: [1, 1] })
await using scratch = await openBenchFolder('compatibility')
const folder = scratch.path
await withBenchDatabase('compatibility', (bench) => measure(bench, options.traces, options.seed))

async function measure(bench: Bench, count: number, seed: number) {
  const { sql, owner } = bench
  const service = await openAgent(bench)
  try {
    const before = await service.register(BEFORE, true)
    await service.idle()
    const bytes = await storeTraces(sql, owner, before, count, seed)
    await sql`vacuum analyze`
    const rows = []
    for (const [change, components] of Object.entries({ wide: WIDE, narrow: NARROW })) {
      const after = await service.register(components, false)
      const job = await service.analyze(before, after)
      const { rule, open, ownOpen, patching } = measureRule(components, count, seed)
      const rate = (seconds: number) => Math.round(count / seconds)
      const { keep, repair, replay, drop } = job.result
      rows.push({
        change,
        verdicts: [keep, repair, replay, drop].join(' '),
        trace_kb: round(bytes / count / 1000),
        job_s: round(job.seconds),
        job_cpu_s: round(job.cpuSeconds),
        traces_s: rate(job.seconds),
        rule_s: rule.perSecond,
        open_and_rule_s: open.perSecond,
        own_open_and_rule_s: ownOpen.perSecond,
        patching_s: patching.perSecond,
        ratio_to_rule: round(rate(job.seconds) / rule.perSecond),
        ratio_to_open_and_rule: round(rate(job.seconds) / open.perSecond),
        ratio_to_own_open_and_rule: round(rate(job.seconds) / ownOpen.perSecond),
        worker_peak_mib: await peakMiB(service.pid),
      })
    }
    print(rows)
    const figures = rows.map((row) => ({
      what: `analysis, a change that concerns ${row.change === 'wide' ? 'every trace' : 'a quarter'}, to opening and rule`,
      ratio: row.ratio_to_open_and_rule,
      figures: `${whole(row.traces_s)} against ${whole(row.open_and_rule_s)} traces a second, ${row.ratio_to_own_open_and_rule} of our own opening and rule, ${row.ratio_to_rule} of the rule alone; ${row.worker_peak_mib} MiB at most`,
    }))
    report(...figures)
  } finally {
    await service.stop()
  }
}

/** Five tool calls, of which the wide change concerns four, and in every fourth trace one more. */
function* makeTraces(count: number, seed: number): Generator<Trace> {
  const random = xoroshiro128plus(seed)
  const below = (n: number) => uniformInt(random, 0, n - 1)
  const now = Date.now()
  for (let i = 0; i < count; i++) {
    const calls = [
      ['search', { q: `query ${i}`, limit: below(70) }],
      ['refund', { order: `o${i}`, amount: below(1000) / 10 }],
      ['lookup', { id: `${i}` }],
      ['mail', { to: `user-${i}@example.com`, body: 'x'.repeat(below(400)) }],
      ['search', { q: 'again' }],
      ...(i % 4 === 0 ? [['cancel', { order: `o${i}`, reason: 'late' }] as const] : []),
    ] as const
    const tool_calls = calls.map(([tool_name, args]) => ({ tool_name, args, result: { ok: true } }))
    const rendered_input = [
      { role: 'system', content: 'You are the support agent of a shop. '.repeat(10) },
      { role: 'user', content: `Request ${i}: ${'where is my order? '.repeat(below(20))}` },
    ]
    const call = { model_name: 'gpt-4o', rendered_input, output: { content: 'Done.' }, tool_calls }
    const given = {
      trace_id: `t${i}`,
      agent_name: 'support',
      started_at: new Date(now - below(29 * 86_400_000)).toISOString(),
      llm_calls: [call],
    }
    const read = readTrace(given, { traceId: () => '', now: new Date(now) })
    if ('faults' in read) throw new Error(read.faults[0]?.message)
    yield read.trace
  }
}

async function storeTraces(
  sql: Sql,
  owner: Bench['owner'],
  manifestId: string,
  count: number,
  seed: number,
) {
  let bytes = 0
  let batch: Parameters<typeof insertTraces>[1][number][] = []
  const flush = async () => {
    await insertTraces(sql, batch)
    batch = []
  }
  for (const trace of makeTraces(count, seed)) {
    bytes += JSON.stringify(trace.llm_calls).length
    const row = toTraceRow({ ...trace, manifest_id: manifestId }, 'shared')
    batch.push({ ...row, ...owner })
    if (batch.length === 1000) await flush()
  }
  await flush()
  return bytes
}

/**
 * On one core: the rule alone, with opening the compressed content before, as Node does it and as we do, and with
 * patching what can be patched. The median of three runs: the job has one, too.
 */
function measureRule(components: readonly object[], count: number, seed: number) {
  const [before, after] = [manifestOf(BEFORE), manifestOf(components)]
  const transition = planTransition(before, after, schemaCompiler())
  const repair = planRepair(transition, after)
  const traces = [...makeTraces(Math.min(count, 20_000), seed)]
  const stored = traces.map((trace) => ({ trace, content: toTraceRow(trace, 'shared').content }))
  const timed = (work: () => void) => {
    const runs = Array.from({ length: 3 }, () => {
      const [start, cpu] = [performance.now(), process.cpuUsage()]
      work()
      const { user, system } = process.cpuUsage(cpu)
      return { seconds: (performance.now() - start) / 1000, cpuSeconds: (user + system) / 1e6 }
    })
    const rate = (of: 'seconds' | 'cpuSeconds') =>
      Math.round(traces.length / median(runs.map((run) => run[of])))
    return { perSecond: rate('seconds'), perCpuSecond: rate('cpuSeconds') }
  }
  const opening = (open: (content: Buffer) => TraceContent) =>
    timed(() => {
      for (const { trace, content } of stored) {
        classify({ ...trace, ...open(content) }, transition)
      }
    })
  return {
    rule: timed(() => traces.forEach((trace) => classify(trace, transition))),
    open: opening((content) => JSON.parse(zstdDecompressSync(content).toString()) as TraceContent),
    ownOpen: opening(decodeContent),
    patching: timed(() => traces.forEach((trace) => applyRepair(trace, repair, null))),
  }
}

function manifestOf(components: readonly object[]) {
  return { components: readComponents(components, []), is_closed_world: false }
}

/** A service with the manifests of one agent. */
async function openAgent(bench: Bench) {
  const { pid, call, waitForJob, stop } = await startService(bench, folder, 'regression')
  return {
    pid,
    stop,
    /** What is not active has no verdicts judged again, which would compete with the analysis. */
    async register(components: object[], activate: boolean) {
      const manifest = { agent_name: 'support', components, activate }
      return (await call<{ manifest_id: string }>('POST', '/manifests', manifest)).manifest_id
    },
    async idle() {
      for (;;) {
        const { jobs } = await call<{ jobs: { done: boolean }[] }>('GET', '/jobs')
        if (jobs.every(({ done }) => done)) return
        await setTimeout(100)
      }
    },
    async analyze(before: string, after: string) {
      const body = { old_manifest_id: before }
      const cpu = await cpuSeconds(pid)
      const path = `/manifests/${after}/compatibility/run`
      const { job_id } = await call<{ job_id: string }>('POST', path, body)
      const { seconds, result } = await waitForJob<VerdictCounts>(job_id)
      return { seconds, cpuSeconds: (await cpuSeconds(pid)) - cpu, result }
    },
  }
}

function tool(name: string, properties: object, required: string[], more: object = {}) {
  const input_schema = { type: 'object', properties, required, ...more }
  return { component_type: 'tool', component_name: name, schema_json: { input_schema } }
}

/** What all threads of a process were given; the clock has 100 ticks a second. */
async function cpuSeconds(pid: number | undefined) {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}
