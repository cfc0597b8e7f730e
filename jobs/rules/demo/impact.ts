import { functionTool, pick } from './agent.ts'
import type { DemoAgent, Outcome } from './agent.ts'
import { manifestOf, randomNumbers, recordAttempt, scoresOf, timeInWeek } from './attempt.ts'
import { DEMO_AGENT, DEMO_MARK } from './fixture.ts'
import { supportAgent } from './support.ts'

/**
 * An agent, traces of its first version, and a second version that breaks some of them: its refunds need
 * an approval that no recorded call has. The same at every call but for the times, which end at `now`.
 */
export function makeImpact(now: Date) {
  const random = randomNumbers(20_260_507)
  // The second one is known by the hash of its components.
  const { manifest_hash: _, ...second } = manifestOf(changedAgent, 'v1')
  const manifests = [manifestOf(agent, 'v1'), second]
  const traces = Array.from({ length: TRACES }, (__, i) => {
    const outcome = pick(OUTCOMES, i)
    const traceId = `demo-impact-${String(i + 1).padStart(2, '0')}`
    const attempt = { agent, no: FIRST_TASK + i, variant: i, release: 'v1', outcome } as const
    const { trace } = recordAttempt(attempt, {
      traceId,
      startedAt: timeInWeek(now, random, 0),
      random,
    })
    return { ...trace, metadata: DEMO_MARK, scores: scoresOf(traceId, outcome, random) }
  })
  return { manifests: manifests.map((each) => ({ ...each, metadata: DEMO_MARK })), traces }
}

const agent: DemoAgent = { ...supportAgent, name: DEMO_AGENT }
const changedAgent: DemoAgent = {
  ...agent,
  tools: agent.tools.map((tool) =>
    tool.function.name === 'refund_order' ? refundWithApproval() : tool,
  ),
}

function refundWithApproval() {
  return functionTool('refund_order', 'Refund an order in full.', [
    'order_id',
    'reason',
    'approved_by',
  ])
}

const TRACES = 24
/** Other tasks than those of the sample data: a conversation that is there already would be a copy. */
const FIRST_TASK = 1000
const OUTCOMES: readonly Outcome[] = ['good', 'good', 'recovered', 'good', 'good', 'wrong']
