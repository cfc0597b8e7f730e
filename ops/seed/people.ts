import { ANNOTATIONS, RATINGS } from '../../jobs/rules/demo/annotations.ts'
import { pick } from '../../jobs/rules/demo/agent.ts'
import type { ApiClient } from '../api-client.ts'

/** What people say of traces, each of which is said once. */
export async function annotate(client: ApiClient) {
  for (const [id, annotation] of Object.entries(ANNOTATIONS)) {
    await annotateOnce(client, id, annotation)
  }
  const doubted = await listDoubted(client)
  for (const [i, id] of doubted.slice(LEFT_IN_QUEUE).entries()) {
    await annotateOnce(client, id, { rating: pick(RATINGS, i), label: 'looked at' })
  }
}

async function annotateOnce(client: ApiClient, id: string, annotation: object) {
  const { annotations } = await client.get<{ annotations: readonly object[] }>(`/traces/${id}`)
  if (annotations.length > 0) return
  const said = await client.post<{ verdict_job_id: string | null }>(
    `/traces/${id}/annotations`,
    annotation,
  )
  if (said?.verdict_job_id) await client.waitForJob(said.verdict_job_id)
}

/** Traces of the support agents that only built-in evaluators scored, newest first. */
async function listDoubted(client: ApiClient) {
  const ids: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const after: string = cursor && `&cursor=${cursor}`
    const page: TracesAnswer = await client.get(`/traces?limit=200&verdict=keep${after}`)
    ids.push(
      ...page.traces
        .filter(({ reason_code: code }) => code === 'score.good' || code === 'score.builtin_only')
        .filter(({ needs_review: isDoubted }) => isDoubted)
        .map(({ trace_id: id }) => id),
    )
    cursor = page.next_cursor
  }
  return ids
}

/** So many of them stay for whoever tries the queue. */
const LEFT_IN_QUEUE = 3

interface TracesAnswer {
  readonly traces: readonly { trace_id: string; reason_code: string; needs_review: boolean }[]
  readonly next_cursor: string | null
}
