import { toolComponent } from '../agents.ts'
import type { Maker } from './maker.ts'
import { conversation } from './sent-traces.ts'

export type AgentHistory = Awaited<ReturnType<typeof recordAgentHistory>>

/**
 * The agent `shop` of the default project: three versions, traces of each, scores of all sources, notes and
 * corrections of people, repaired contents, a check that was accepted and one that is a baseline.
 */
export async function recordAgentHistory(maker: Maker) {
  const { post, id, settled } = maker
  const register = (components: object[], more: object = {}) =>
    id('/manifests', { agent_name: 'shop', components, ...more }, 'manifest_id')
  const first = await register([refundTool], {
    activate: true,
    display_label: 'one "1"',
    metadata: { commit: 'abc', note: 'a\\b' },
  })
  await post('/regression-check', { agent_name: 'shop', candidate_manifest_id: first })
  const refunds = Array.from({ length: 12 }, (_, i) => refund(`refund-${i}`, first, `o${i}`))
  const broken = refund('broken-contract', first, 7)
  await post('/traces/batch', { traces: [...refunds, broken] })
  await scoreTraces(maker)
  await settled()
  const second = await register([
    toolComponent('refund', { order_id: TEXT }, ['order_id']),
    toolComponent('search', { q: TEXT }),
  ])
  const check = await id('/regression-check', {
    agent_name: 'shop',
    candidate_manifest_id: second,
    pr_context: { repo: 'a/b', pr_number: 7 },
  })
  await post(`/regression-check/${check}/decision`, { human_decision: 'accepted', note: 'meant' })
  await settled()
  await post('/repair/apply', { old_manifest_id: first, new_manifest_id: second })
  await annotateTraces(maker)
  await settled()
  await post('/manifests', {
    agent_name: 'clerk',
    components: [{ component_type: 'model', component_name: 'gpt-4o', component_version: '1' }],
    is_closed_world: true,
  })
  await register([toolComponent('search', { q: TEXT, limit: { type: 'integer' } })])
  return { first, second }
}

async function scoreTraces({ post }: Maker) {
  for (const [i, source] of ['custom', 'human', 'custom', 'custom', 'custom', 'custom'].entries()) {
    const scores = [
      { name: 'helpful', score: i === 3 ? 0 : 1, reason: 'so \\ it "is"', label: 'good' },
      { name: 'only-text', label: 'mostly', reason: 'nothing to count' },
    ]
    const body = { source, scores, metadata: { source_label: 'judge 1', run: { b: 1, a: [2] } } }
    await post(`/traces/refund-${i}/eval-scores`, body)
  }
}

async function annotateTraces({ post }: Maker) {
  const say = (trace: string, said: object) => post(`/traces/${trace}/annotations`, said)
  await say('refund-3', { corrected_output: 'All is "well" \\ paid', notes: 'wrong order' })
  await say('refund-4', { corrected_output: 'Not so' })
  await say('refund-4', { correction_withdrawn: true })
  await say('refund-5', {
    rating: 2,
    correctness: 'partly',
    error_categories: ['tone', 'tool "use"'],
    tags: ['late'],
    flagged_for_review: true,
  })
  await say('refund-6', { label: 'fine', score: 0.9 })
}

function refund(trace_id: string, manifest_id: string, order: unknown) {
  const trace = conversation(trace_id, `Give me back my money for ${String(order)}`)
  const [call] = trace.llm_calls
  const name = 'refund'
  const asked = {
    id: 'c1',
    type: 'function',
    function: { name, arguments: JSON.stringify({ order }) },
  }
  const llm_call = {
    ...call,
    output: { role: 'assistant', content: null, tool_calls: [asked] },
    tool_calls: [{ id: 'c1', tool_name: name, args: { order }, result: 'paid' }],
  }
  return { ...trace, manifest_id, llm_calls: [llm_call], session_id: 'refunds' }
}

const TEXT = { type: 'string' }
/** The only component of the first version. */
export const refundTool = toolComponent('refund', { order: TEXT }, ['order'])
