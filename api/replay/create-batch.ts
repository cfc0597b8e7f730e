import Joi from 'joi'
import { randomUUIDv7 } from 'node:crypto'
import { prepareReplay } from '../../jobs/prepare-replay.ts'
import {
  CALLED_SCHEMES,
  findCalledUrlFault,
  findUrlFault,
} from '../../jobs/rules/core/outbound-address.ts'
import { cut } from '../../jobs/rules/core/reader.ts'
import { completeFilters, RecipeError } from '../../jobs/rules/datasets/filters.ts'
import { int, listOf, oneOf, shape, text, textReference, uuidReference } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { ManifestRow } from '../../sql/manifests/manifests.ts'
import { BATCH_DAYS, countOpenBatches, insertBatch } from '../../sql/replay/replay-batches.ts'
import type { NewBatch } from '../../sql/replay/replay-batches.ts'
import { MAX_TASKS } from '../../sql/replay/recorded-traces.ts'
import { listTraceAgents } from '../../sql/traces/traces.ts'
import { admitJob } from '../admit-job.ts'
import type { ApiContext } from '../context.ts'
import { traceFilters } from '../datasets/trace-filters.ts'
import { endpoint } from '../endpoint.ts'
import { ApiError, badRequest, notFound } from '../errors.ts'
import { errorBody, EXAMPLE_ID, waitHeaders } from '../fields.ts'
import { findComparedManifest, findVisibleManifest } from '../manifests/manifest.ts'
import type { Principal } from '../principal.ts'
import { refuseUnreachable } from '../unreachable.ts'
import { answerLongWork } from '../wait.ts'
import { batchWithTasksBody, findVisibleBatch, viewBatchWithTasks } from './batch.ts'

const OTHER_SOURCE = 'The source belongs to another agent or project than the target'

/** Open batches of an organization. */
const MAX_OPEN = 20

const filters = traceFilters({
  agent_name: 'That of the target; another one is refused',
  verdicts: 'Default all traces, those without a verdict too',
  max_rows: `Of more traces, the newest are taken; never more than ${MAX_TASKS.toLocaleString('en')}`,
}).label('ReplayFilters')

const batchRequest = shape(
  { target_manifest_id: uuidReference().description('The version to run as') },
  {
    source_manifest_id: uuidReference().description(
      'Traces of this version only; what `trace_ids` names of others is skipped',
    ),
    trace_ids: listOf(textReference()).min(1).max(5000),
    filters,
    mode: oneOf('pull', 'push')
      .default('pull')
      .description('Runners claim tasks, or tasks are sent to `runner_url`'),
    runner_url: Joi.string()
      .custom((url: string, helpers) => {
        const fault = findUrlFault(url, CALLED_SCHEMES)
        return fault ? helpers.message({ custom: `{{#label}} ${fault}` }) : url
      })
      .description('Of a push batch. Plain http leads into allowed private networks only'),
    max_in_flight: int(1, 50).default(8).description('Tasks that a push batch has out at once'),
    note: text(2000).min(0),
  },
)
  .label('ReplayBatchRequest')
  .example({ target_manifest_id: EXAMPLE_ID, filters: { verdicts: ['replay'] } })

export const createReplayBatch = endpoint('POST', '/replay/batches', {
  summary: 'Make replay tasks of recorded traces, to be run as another version of their agent',
  description: `Exactly one of \`trace_ids\` and \`filters\`. The batch belongs to the project of the target version. Long work: 201 with the first 100 tasks, or 202. What is open after ${BATCH_DAYS} days fails. 409 \`too_many_batches\` beyond ${MAX_OPEN} open batches of the organization.`,
  access: 'key',
  body: batchRequest,
  headers: waitHeaders,
  answers: {
    201: batchWithTasksBody,
    202: batchWithTasksBody,
    404: errorBody,
    409: errorBody,
  },
  async handle(call) {
    const { context, principal, body } = call
    const target = await findVisibleManifest(context, principal, body.target_manifest_id)
    const batch = await readBatch(context, principal, target, body)
    const jobId = await submitBatch(context, principal, batch)
    return answerLongWork(call, jobId, 201, async () =>
      viewBatchWithTasks(context.sql, await findVisibleBatch(context, principal, batch.id)),
    )
  },
})

/** @throws ApiError 400, 404 */
async function readBatch(
  context: ApiContext,
  principal: Principal,
  target: ManifestRow,
  body: Valid<typeof batchRequest>,
): Promise<Omit<NewBatch, 'job_id'>> {
  const { source_manifest_id: sourceId, mode, runner_url, max_in_flight, note } = body
  const source =
    sourceId === undefined
      ? null
      : await findComparedManifest(context, principal, target, sourceId, OTHER_SOURCE)
  await checkRunner(context, mode, runner_url)
  return {
    id: randomUUIDv7(),
    org_id: principal.orgId,
    project_id: target.project_id,
    agent_name: target.agent_name,
    source_manifest_id: source?.id ?? null,
    target_manifest_id: target.id,
    chosen: await readChosen(context, principal, target, body),
    mode,
    runner_url: runner_url ?? null,
    max_in_flight,
    note: note ?? null,
    created_by: principal.keyId,
  }
}

async function checkRunner(
  { outboundNetworks }: ApiContext,
  mode: 'pull' | 'push',
  url: string | undefined,
) {
  if (mode === 'pull' && url !== undefined) throw badRequest('runner_url is for mode push')
  if (mode === 'pull') return
  if (url === undefined) throw badRequest('mode push needs runner_url')
  const fault = findCalledUrlFault(url, outboundNetworks)
  if (fault) throw badRequest(`runner_url ${fault}`)
  await refuseUnreachable('runner_url', url, outboundNetworks)
}

async function readChosen(
  { sql }: ApiContext,
  { orgId }: Principal,
  { project_id, agent_name }: ManifestRow,
  { trace_ids, filters }: Valid<typeof batchRequest>,
): Promise<NewBatch['chosen']> {
  if ((trace_ids === undefined) === (filters === undefined)) {
    throw badRequest('Exactly one of trace_ids and filters must be given')
  }
  if (filters) {
    if ((filters.agent_name ?? agent_name) !== agent_name) throw otherAgent()
    return { filters: readFilters(filters, agent_name) }
  }
  const named = [...new Set(trace_ids)]
  const agents = await listTraceAgents(sql, orgId, project_id, named)
  const unknown = named.find((id) => !agents.has(id))
  if (unknown !== undefined) throw notFound(`Trace ${cut(unknown, 256) || '""'}`)
  if (named.some((id) => agents.get(id) !== agent_name)) throw otherAgent()
  return { trace_ids: named }
}

/** @throws ApiError 400 */
function readFilters(filters: Parameters<typeof completeFilters>[0], agentName: string) {
  try {
    return completeFilters(filters, { agentName, verdicts: [] })
  } catch (error) {
    if (error instanceof RecipeError) throw badRequest(error.message)
    throw error
  }
}

async function submitBatch(
  context: ApiContext,
  principal: Principal,
  batch: Omit<NewBatch, 'job_id'>,
) {
  const { id, project_id: projectId } = batch
  return context.queue.transaction(context.sql, async (tx: Transaction) => {
    if ((await countOpenBatches(tx, principal.orgId)) >= MAX_OPEN) {
      const detail = `The organization has ${MAX_OPEN} open replay batches: wait for one, or cancel one`
      throw new ApiError(409, 'too_many_batches', detail)
    }
    const submission = { projectId, resultRef: `/replay/batches/${id}` }
    const payload = { batch_id: id }
    const job_id = await admitJob(context, tx, principal, prepareReplay, payload, submission)
    await insertBatch(tx, { ...batch, job_id })
    return job_id
  })
}

function otherAgent() {
  return badRequest('The traces belong to another agent than the target')
}
