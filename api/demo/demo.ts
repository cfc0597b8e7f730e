import Joi from 'joi'
import { bool, shape } from '../../jobs/shape.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { findOwners } from '../../sql/demo/demo-agents.ts'
import { lockAgent } from '../../sql/manifests/manifests.ts'
import type { AgentKey } from '../../sql/manifests/manifests.ts'
import { completeTraces, insertTied } from '../../sql/transactions/store-traces.ts'
import type { ApiContext } from '../context.ts'
import { conflictWith } from '../errors.ts'
import { projectField } from '../fields.ts'
import { readTraceBody } from '../traces/sent-trace.ts'
import type { SentTrace } from '../traces/sent-trace.ts'

/** What the demo operations share. */

export const seedQuery = shape(
  {},
  {
    force: bool()
      .default(false)
      .description('Take out first what the demo has put in, and begin anew'),
    project: projectField,
  },
)

export const fixtureField = Joi.boolean()
  .valid(true)
  .required()
  .description('All of it says that it is a fixture')

/** The traces of the demo, ready to be stored. */
export async function readTraces({ now, contentForm }: ApiContext, traces: readonly object[]) {
  const reading = { now: now(), contentForm }
  const read: SentTrace[] = []
  for (const trace of traces) {
    const result = await readTraceBody(trace, reading)
    if ('faults' in result) throw new Error(`A demo trace is faulty: ${JSON.stringify(result)}`)
    read.push(result.value)
  }
  return read
}

/** Stores traces of the demo, and has them judged. They count against no quota. @throws ApiError 409 */
export async function putTraces(
  tx: Transaction,
  queue: Queue,
  { orgId, projectId, agentName }: AgentKey,
  traces: readonly SentTrace[],
) {
  const rows = traces.map(({ row }) => ({ ...row, org_id: orgId, project_id: projectId }))
  const inserted = await insertTied(tx, rows)
  if (inserted.length < rows.length) {
    const message = 'The project has traces of its own whose ids are those of the demo'
    throw conflictWith(message, { type: 'agent', id: agentName, name: agentName })
  }
  const traceIds = rows.map(({ trace_id }) => trace_id)
  const scores = traces.flatMap(({ scores, row: { trace_id } }) =>
    scores.map((score) => ({ ...score, trace_id })),
  )
  await completeTraces(tx, queue, orgId, [{ projectId, traceIds, scores }])
}

/**
 * Locks an agent that is the demo's, or not there.
 * @throws ApiError 409 where it has something of the organization's own
 */
export async function lockDemoAgent(tx: Transaction, agent: AgentKey) {
  await lockAgent(tx, agent)
  if ((await findOwners(tx, agent)).has_own) throw agentTaken(agent)
}

/** Of an agent that is the organization's own, and no demo's. */
export function agentTaken({ agentName }: AgentKey) {
  const message = `The agent ${agentName} has manifests or traces of your own`
  return conflictWith(message, { type: 'agent', id: agentName, name: agentName })
}
