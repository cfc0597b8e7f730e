import t from 'tap'
import type { Test } from 'tap'
import { rewriteTraces } from '../../../jobs/rewrite-traces.ts'
import { contentText, decodeContent, encodeContent } from '../../../jobs/rules/traces/content.ts'
import type { ContentForm } from '../../../jobs/rules/traces/content.ts'
import { toTraceRow } from '../../../jobs/rules/traces/trace-row.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { findJob } from '../../../sql/jobs/jobs.ts'
import { listContentsOf, updateContents } from '../../../sql/traces/rewritten-contents.ts'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { submitJob } from '../../../sql/transactions/submit-job.ts'
import {
  makeRewriteHandler,
  rewriteTracesHandler,
} from '../../../workers/maintenance/rewrite-traces.ts'
import { recorded } from '../../support/recorded-trace.ts'
import { storeRevisions } from '../../support/revisions.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const [WHOLE, SHARED] = [0x28, 1]
const TOOL = { component_type: 'tool', component_name: 'find' }

t.test('contents are rewritten, and nothing else of their traces', async (t) => {
  const { service, org, state, run, store } = await openScene(t)
  await store(conversation('a', 3), conversation('b', 2), conversation('single', 1))
  const manifest = { agent_name: 'agent', components: [TOOL], activate: false }
  const { body } = await service.client(org.key).post('/manifests', manifest)
  const revision = {
    trace_id: 'b',
    target_manifest_id: body.manifest_id,
    llm_calls: callsOf('new', 4),
  }
  await storeRevisions(service.sql, org, [revision], 'whole')
  const before = await state()
  await service.startWorkers([rewriteTracesHandler])
  const job = await run()
  t.match(job, { state: 'succeeded', progress_done: 3, progress_total: 3 })
  const { bytes_before, bytes_after, ...counts } = job.result as Record<string, number>
  t.same(counts, { traces: 3, rewritten: 3, unreadable: 0 })
  const after = await state()
  const written = [0, 1, 3]
  t.equal(bytes_before, sum(written.map((i) => before.bytes[i] ?? 0)))
  t.equal(bytes_after, sum(written.map((i) => after.bytes[i] ?? 0)))
  t.same(after.columns, before.columns, 'all other columns')
  t.same(after.texts, before.texts, 'what the contents say')
  t.same(before.forms, [WHOLE, WHOLE, WHOLE, WHOLE])
  t.same(after.forms, [SHARED, SHARED, WHOLE, SHARED], 'one call has nothing to share')

  t.match((await run()).result, { traces: 3, rewritten: 0, bytes_after: 0 }, 'and only once')
})

t.test('a damaged content stays as it is, and is counted', async (t) => {
  const { service, run, state, store } = await openScene(t)
  const { sql } = service
  await store(conversation('a', 3), conversation('damaged', 3), conversation('z', 3))
  const damaged = Buffer.from('28b52ffd00', 'hex')
  await sql`update traces set content = ${damaged} where trace_id = 'damaged'`
  await service.startWorkers([rewriteTracesHandler])
  const job = await run()
  t.match(job, { state: 'succeeded', result: { traces: 3, rewritten: 2, unreadable: 1 } })
  const [row] = await sql`select content from traces where trace_id = 'damaged'`
  t.same(row?.['content'], damaged)
  t.same((await state()).forms, [SHARED, WHOLE, SHARED])
})

t.test('a content that changes meanwhile is left to whoever changed it', async (t) => {
  const { service, org, state, store } = await openScene(t)
  const { sql } = service
  await store(conversation('a', 3), conversation('b', 3), conversation('c', 3))
  const keys = ['a', 'b', 'c'].map((trace_id) => ({ trace_id, target_manifest_id: null }))
  const read = await listContentsOf(sql, org, keys)
  await sql`update traces set revision = 1 where trace_id = 'a'`
  await sql`delete from traces where trace_id = 'b'`
  await store(conversation('b', 2))
  const before = await state()
  const content = encodeContent(recorded({ llm_calls: [{}] }), 'whole')
  const rewritten = read.map((each) => ({ ...each, content }))
  t.equal(await sql.begin((tx: Transaction) => updateContents(tx, org, rewritten)), 1)
  const after = await state()
  t.same(after.texts.slice(0, 2), before.texts.slice(0, 2))
  t.equal(after.texts[2], contentText(decodeContent(content)), 'the one that stayed is written')
})

t.test('a rewriting that is stopped goes on, and one that is cut off repeats a page', async (t) => {
  const { service, submit, end, find, state, store } = await openScene(t)
  const { sql } = service
  await store(...Array.from({ length: 130 }, (_, i) => conversation(`t${1000 + i}`, 3)))
  const before = await state()
  const id = await submit()
  // The first batch is written; the second one waits for this trace.
  const holder = await sql.reserve()
  await holder`begin`
  await holder`select from traces where trace_id = 't1060' for update`
  const waiting = () => sql<{ pid: number }[]>`
    select pid from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock' and query like '%for no key update%'`
  const first = await service.startWorkers([rewriteTracesHandler])
  const [held] = await until(async () => {
    const found = await waiting()
    return found.length > 0 && found
  })
  await sql`select pg_terminate_backend(${held?.pid ?? 0})`
  await until(async () => (await waiting()).some(({ pid }) => pid !== held?.pid))
  t.match(await find(id), { state: 'running', progress_done: 0 })
  const stopping = first.stop()
  await holder`rollback`
  holder.release()
  await stopping
  await service.startWorkers([makeRewriteHandler({ sliceMs: 0 })])
  t.match(await end(id), { state: 'succeeded', result: { traces: 130, rewritten: 130 } })
  const after = await state()
  t.same(after.columns, before.columns)
  t.same(after.texts, before.texts)
  t.ok(after.forms.every((form) => form === SHARED))
})

t.test('a worker that may serve older releases writes nothing', async (t) => {
  const { service, run, state, store } = await openScene(t, 'whole')
  await store(conversation('a', 3))
  const before = await state()
  await service.startWorkers([rewriteTracesHandler])
  t.match(await run(), { state: 'failed', error: { code: 'older_release_served' } })
  t.same(await state(), before)
})

/** A service with one organization, whose traces are stored whole. */
async function openScene(t: Test, contentForm: ContentForm = 'shared') {
  const service = await openService(t, { contentForm })
  const { sql, context } = service
  const org = await service.makeOrganization()
  const owner = { org_id: org.orgId, project_id: org.projectId }
  const submission = { orgId: org.orgId, projectId: org.projectId, createdBy: null }
  const find = (id: string) => findJob(sql, org.orgId, id)
  const submit = () =>
    context.queue.transaction(sql, (tx: Transaction) =>
      submitJob(tx, context.queue, rewriteTraces, { project_id: org.projectId }, submission),
    )
  const end = (id: string) =>
    until(async () => {
      const job = await find(id)
      return job?.finished_at && job
    })
  return {
    service,
    org,
    submit,
    find,
    end,
    run: async () => end(await submit()),
    async store(...traces: readonly ReturnType<typeof recorded>[]) {
      const rows = traces.map((trace) => ({ ...toTraceRow(trace, 'whole'), ...owner }))
      await insertTraces(sql, rows)
    },
    /** All contents, those of traces first, and the columns beside them. */
    async state() {
      const rows = await sql<{ columns: unknown; content: Buffer }[]>`
        select to_jsonb(t) - 'content' as columns, content from traces t order by trace_id`
      const repaired = await sql<typeof rows>`
        select to_jsonb(r) - 'content' as columns, content from trace_revisions r`
      const all = [...rows, ...repaired]
      return {
        columns: all.map(({ columns }) => columns),
        texts: all.map(({ content }) => textOf(content)),
        forms: all.map(({ content }) => content[0]),
        bytes: all.map(({ content }) => content.length),
      }
    },
  }
}

function sum(numbers: readonly number[]) {
  return numbers.reduce((total, each) => total + each, 0)
}

function textOf(content: Buffer) {
  try {
    return contentText(decodeContent(content))
  } catch {
    return undefined
  }
}

function conversation(trace_id: string, calls: number) {
  return recorded({ trace_id, llm_calls: callsOf(trace_id, calls) })
}

function callsOf(name: string, count: number) {
  const messages = Array.from({ length: count + 1 }, (_, i) => ({
    role: i % 2 ? 'assistant' : 'user',
    content: `${name} says ${(i * 7919) ** 3}. `.repeat(9),
  }))
  return messages
    .slice(1)
    .map((output, i) => ({ rendered_input: messages.slice(0, i + 1), output }))
}
