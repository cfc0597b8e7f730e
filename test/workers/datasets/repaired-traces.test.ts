import t from 'tap'
import {
  buildDataset,
  buildVersion,
  openDatasetService,
  pathOf,
  readJsonl,
  readParquet,
  withoutNulls,
} from '../../support/built-dataset.ts'
import type { Row, Version } from '../../support/built-dataset.ts'
import { makeRacingHandler } from '../../support/racing-build.ts'
import { RULES, storeRevisions } from '../../support/revisions.ts'
import { hello, storeJudged } from '../../support/stored-traces.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'
import { tool } from '../../support/training-rows.ts'

const UNFIT = { rule: 9, code: 'compat.tool_renamed', subject: 'find', message: '' }
const FAILED = { rule: 10, code: 'step.masked', subject: 'tool_calls', message: '' }
const WANTED = { filters: { verdicts: ['keep', 'repair'] } }
const OLD_TOOL = tool('find', { type: 'object', properties: { order: { type: 'string' } } })
const NEW_TOOL = tool('search', { type: 'object', properties: { order_id: { type: 'string' } } })

/** A question that a tool is called for twice, the first time in vain. */
function callsOf(question: string, { name, args, tools }: Spoken) {
  const called = (id: string) => ({
    role: 'assistant',
    content: null,
    tool_calls: [{ id, function: { name, arguments: args } }],
  })
  const messages = [
    { role: 'user', content: question },
    called('a'),
    { role: 'tool', tool_call_id: 'a', content: 'Try again' },
    called('b'),
    { role: 'tool', tool_call_id: 'b', content: 'shipped' },
    { role: 'assistant', content: 'On its way' },
  ]
  const tool_calls = [
    { id: 'a', tool_name: name, args: {}, status: 'error' },
    { id: 'b', tool_name: name, args: {}, status: 'success' },
  ]
  return [{ rendered_input: messages, tools, tool_calls }]
}
interface Spoken {
  readonly name: string
  readonly args: string
  readonly tools: readonly object[]
}
const recorded = (question: string) =>
  callsOf(question, { name: 'find', args: '{"order":"7"}', tools: [OLD_TOOL] })
const patched = (question: string) =>
  callsOf(question, { name: 'search', args: '{"order_id":"7"}', tools: [NEW_TOOL] })

t.test('traces to repair in datasets', async (t) => {
  let meanwhile: () => Promise<unknown> = () => Promise.resolve()
  const datasets = await openDatasetService(t)
  const { service } = datasets
  const { sql } = service

  /** An organization with an agent that had `find` and is to have `search`, and these traces of it. */
  async function open(traces: readonly Given[], { service, openOrganization } = datasets) {
    const org = await openOrganization([])
    const register = async (tools: readonly { function: { name: string } }[]) => {
      const components = tools.map(({ function: { name, ...content } }) => ({
        type: 'tool',
        name,
        content,
      }))
      const { body } = await org.api.post('/manifests', { agent_name: 'agent', components })
      return body as { manifest_id: string; manifest_hash: string }
    }
    const old = await register([OLD_TOOL])
    const target = await register([NEW_TOOL])
    const stored = traces.map(({ trace_id, reasons, ...more }) => ({
      trace_id,
      manifest_id: old.manifest_id,
      verdict: 'repair' as const,
      reasons,
      target_manifest_id: target.manifest_id,
      llm_calls: recorded(trace_id),
      ...more,
    }))
    await storeJudged(service.sql, org, stored)
    const revise = (ids: readonly string[], target_manifest_id = target.manifest_id) =>
      storeRevisions(
        service.sql,
        org,
        ids.map((trace_id) => ({ trace_id, target_manifest_id, llm_calls: patched(trace_id) })),
      )
    return { ...org, old, target, register, revise }
  }
  type Given = Partial<JudgedTrace> & Required<Pick<JudgedTrace, 'trace_id' | 'reasons'>>
  const of = (id: string, rows: readonly Row[]) => rows.find((row) => traceOf(row) === id) as Row
  const traceOf = ({ provenance }: Row) => provenance.trace_id
  const idsIn = async (org: Awaited<ReturnType<typeof open>>, version: Version) =>
    (await readJsonl(org.api, version)).map(traceOf)

  t.test('give rows where every reason to repair them has its patch', async (t) => {
    const org = await open([
      { trace_id: 'kept', verdict: 'keep', reasons: [], messages: hello('kept'), llm_calls: [] },
      { trace_id: 'unfit', reasons: [UNFIT] },
      { trace_id: 'unfit and failed', reasons: [UNFIT, FAILED] },
      { trace_id: 'failed', reasons: [FAILED] },
      { trace_id: 'unpatched', reasons: [UNFIT] },
      { trace_id: 'unpatched behind', reasons: [FAILED, UNFIT] },
      { trace_id: 'patched for another', reasons: [UNFIT] },
      { trace_id: 'patched before it changed', reasons: [UNFIT] },
      { trace_id: 'of no known reason', reasons: [{ code: 'output.odd' }, UNFIT] },
    ])
    const revised = ['unfit', 'unfit and failed', 'failed', 'of no known reason', 'kept']
    const batch_id = await org.revise([...revised, 'patched before it changed'])
    await org.revise(['patched for another'], org.old.manifest_id)
    await sql`update traces set revision = 1 where trace_id = 'patched before it changed'`
    const version = await buildDataset(org.api, 'sft', WANTED)
    const rows = await readJsonl(org.api, version)
    t.same(rows.map(traceOf), ['failed', 'unfit', 'unfit and failed'])
    t.same(version.dropped_counts, { 'invalid.no_assistant': 1, unrepaired: 5 })

    const unfit = of('unfit', rows)
    t.match(namesIn(unfit), ['search', 'search'])
    t.same(unfit.tools, [NEW_TOOL])
    t.same(weightsIn(unfit), [1, 1, 1], 'a failed step is masked only where that is a reason')
    t.match(unfit.provenance, {
      manifest_hash: org.old.manifest_hash.slice(7),
      target_manifest_hash: org.target.manifest_hash.slice(7),
      repair: { batch_id, target_manifest_id: org.target.manifest_id, rules: RULES },
      repaired: true,
      tools_from: 'manifest',
    })
    t.same(weightsIn(of('unfit and failed', rows)), [0, 1, 1])
    t.same(namesIn(of('unfit and failed', rows)), ['search', 'search'])

    const failed = of('failed', rows)
    t.same(
      [namesIn(failed), weightsIn(failed)],
      [
        ['find', 'find'],
        [0, 1, 1],
      ],
    )
    t.match(failed.provenance, { repaired: true, tools_from: 'calls' })
    t.notOk('repair' in failed.provenance || 'target_manifest_hash' in failed.provenance)

    t.same(withoutNulls(await readParquet(service, org.key, version)), withoutNulls(rows))
    const { body } = await org.api.get(`${pathOf(version)}/rows`)
    t.same(
      (body.rows as Row[]).map(({ provenance }) => provenance),
      rows.map(({ provenance }) => provenance),
    )
    const again = await buildVersion(org.api, version.dataset_id, WANTED)
    t.same([again.content_hash, again.files], [version.content_hash, version.files])
  })

  t.test('give a row of each call when these are wanted', async (t) => {
    const org = await open([{ trace_id: 'unfit', reasons: [UNFIT] }])
    await org.revise(['unfit'])
    const options = { rows: 'call', format: 'trl' }
    const rows = await readJsonl(
      org.api,
      await buildDataset(org.api, 'sft', { ...WANTED, options }),
    )
    t.same(rows.map(namesIn), [['search', 'search']])
    t.match(rows[0]?.provenance, { repaired: true, repair: { rules: RULES } })
  })

  t.test('count as unrepaired once another manifest is the target', async (t) => {
    const org = await open([
      { trace_id: 'unfit', reasons: [UNFIT] },
      { trace_id: 'failed', reasons: [FAILED] },
    ])
    await org.revise(['unfit'])
    const before = await buildDataset(org.api, 'sft', WANTED)
    const rows = await readJsonl(org.api, before)
    t.same(rows.map(traceOf), ['failed', 'unfit'])
    const next = await org.register([NEW_TOOL, OLD_TOOL])
    await sql`
      update verdicts set target_manifest_id = ${next.manifest_id} where org_id = ${org.orgId}`
    const after = await buildVersion(org.api, before.dataset_id, WANTED)
    t.same(await idsIn(org, after), ['failed'])
    t.same(after.dropped_counts, { unrepaired: 1 })
    t.same(await readJsonl(org.api, before), rows, 'a version keeps its rows')
    await org.revise(['unfit'], next.manifest_id)
    const last = await buildVersion(org.api, before.dataset_id, WANTED)
    t.same(await idsIn(org, last), ['failed', 'unfit'])
    t.match(of('unfit', await readJsonl(org.api, last)).provenance, {
      target_manifest_hash: next.manifest_hash.slice(7),
      repair: { target_manifest_id: next.manifest_id },
    })
  })

  t.test('are labelled and compared as they were recorded', async (t) => {
    const org = await open([
      { trace_id: 'good', task_id: 'task', reasons: [UNFIT] },
      { trace_id: 'bad', task_id: 'task', quality: 0, reasons: [UNFIT] },
    ])
    await org.revise(['good', 'bad'])
    const rows = await readJsonl(org.api, await buildDataset(org.api, 'kto'))
    t.same(rows.map(traceOf), ['bad', 'good'])
    for (const { tools, provenance } of rows) {
      t.same([tools, provenance.repaired, provenance.repair], [[OLD_TOOL], false, undefined])
    }
    const pairs = await buildDataset(org.api, 'dpo')
    t.same(pairs.dropped_counts, { user_divergence: 1 })
  })

  t.test('end as a person corrected them, in the words of the target', async (t) => {
    const org = await open([{ trace_id: 'unfit', reasons: [UNFIT] }])
    await org.revise(['unfit'])
    const corrected_output = 'It came yesterday'
    const said = await org.api.post('/traces/unfit/annotations', { corrected_output })
    t.equal(said.status, 201)
    const version = await buildDataset(org.api, 'sft', WANTED)
    const [row] = (await readJsonl(org.api, version)) as [Row]
    t.same([namesIn(row), row.messages.at(-1)?.content], [['search', 'search'], corrected_output])
  })

  t.test('have the tools of their calls where the target knows none', async (t) => {
    const org = await open([{ trace_id: 'unfit', reasons: [UNFIT] }])
    const { body } = await org.api.post('/manifests', {
      agent_name: 'agent',
      components: [{ type: 'tool', name: 'search' }],
    })
    await sql`
      update verdicts set target_manifest_id = ${body.manifest_id} where org_id = ${org.orgId}`
    await org.revise(['unfit'], body.manifest_id)
    const version = await buildDataset(org.api, 'sft', WANTED)
    const [row] = (await readJsonl(org.api, version)) as [Row]
    t.same([row.tools, row.provenance.tools_from], [[NEW_TOOL], 'calls'])
  })

  t.test('that change while a version is built are counted and give no row', async (t) => {
    const racing = await openDatasetService(
      t,
      makeRacingHandler(() => meanwhile()),
    )
    const ids = ['as before', 'made again', 'replaced', 'revised', 'unmade']
    const org = await open(
      [
        ...ids.map((trace_id) => ({ trace_id, reasons: [UNFIT] })),
        { trace_id: 'kept and revised', verdict: 'keep', reasons: [] },
      ],
      racing,
    )
    await org.revise(ids)
    meanwhile = async () => {
      const { sql } = racing.service
      await org.revise(['made again'])
      await sql`
        update trace_revisions set content_hash = sha256('other') where trace_id = 'replaced'`
      await sql`update traces set revision = 1 where trace_id in ('revised', 'kept and revised')`
      await sql`delete from trace_revisions where trace_id = 'unmade'`
    }
    const version = await buildDataset(org.api, 'sft', WANTED)
    t.same((await readJsonl(org.api, version)).map(traceOf), ['as before'])
    t.same(version.dropped_counts, { deleted: 5 })
  })
})

function namesIn({ messages }: Row) {
  return messages.flatMap((message) =>
    ((message as Message).tool_calls ?? []).map(({ function: { name } }) => name),
  )
}

/** Of the turns of the assistant. */
function weightsIn({ messages }: Row) {
  return messages.filter(({ role }) => role === 'assistant').map(({ weight }) => weight)
}

interface Message {
  readonly tool_calls?: readonly { readonly function: { readonly name: string } }[]
}
