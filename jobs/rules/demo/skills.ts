import { pick } from './agent.ts'
import type { Outcome } from './agent.ts'
import { randomNumbers, recordAttempt, scoresOf, timeInWeek } from './attempt.ts'
import { hashBody } from '../skills/skill.ts'
import { DEMO_MARK, DEMO_SKILLS_AGENT } from './fixture.ts'
import { supportAgent } from './support.ts'

export interface DemoSkill {
  readonly name: string
  readonly description: string
  readonly body: string
}

/** Skills of the demo, the best first. */
export const DEMO_SKILLS: readonly DemoSkill[] = [
  {
    name: 'demo-order-lookup',
    description:
      'Look an order up before saying anything about it. Use for questions about orders.',
    body: `# Order lookup

1. Ask for the order number, unless it was given.
2. Call \`get_order\` with it. Try once more if the call fails.
3. Tell the state of the order in one sentence, and nothing that the answer does not say.`,
  },
  {
    name: 'demo-refund-policy',
    description: 'Decide whether an order is refunded. Use when a customer asks for money back.',
    body: `# Refund policy

- Refund orders that came damaged, or more than three days late.
- Look the order up first; what a customer says of it is not enough.
- Tell how long the money takes: three to five days.`,
  },
  {
    name: 'demo-short-answers',
    description: 'Keep answers to customers short and friendly. Use for every answer in the chat.',
    body: `# Short answers

At most three sentences. Begin with what the customer asked for, and leave out how it was found.`,
  },
]

/** Traces that used each of them, with their scores; the same at every call but for the times. */
export function makeSkillTraces(now: Date) {
  const random = randomNumbers(20_260_508)
  const agent = { ...supportAgent, name: DEMO_SKILLS_AGENT }
  return DEMO_SKILLS.flatMap(({ name, body }, place) =>
    Array.from({ length: TRACES_OF_EACH }, (_, i) => {
      const outcome = pick(OUTCOMES[place] ?? [], i)
      const no = FIRST_TASK + place * TRACES_OF_EACH + i
      const traceId = `${name}-${String(i + 1).padStart(2, '0')}`
      const attempt = { agent, no, variant: i, release: 'v1', outcome } as const
      const { trace } = recordAttempt(attempt, {
        traceId,
        startedAt: timeInWeek(now, random, 0),
        random,
      })
      // It has no manifest.
      const { manifest_hash: __, ...sent } = trace
      const active_skills = [{ name, hash: hashBody(body).toString('hex') }]
      const scores = scoresOf(traceId, outcome, random)
      return { ...sent, metadata: DEMO_MARK, active_skills, scores }
    }),
  )
}

const TRACES_OF_EACH = 12
/** Other tasks than those of the sample data and of the demo agent. */
const FIRST_TASK = 2000
/** How attempts go with each skill, over and over. */
const OUTCOMES: readonly (readonly Outcome[])[] = [
  ['good', 'good', 'good', 'recovered'],
  ['good', 'good', 'wrong', 'good'],
  ['good', 'hasty', 'good', 'wrong'],
]
