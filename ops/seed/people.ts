import { ANNOTATIONS, RATINGS } from '../../jobs/rules/demo/annotations.ts'
import { pick } from '../../jobs/rules/demo/agent.ts'
import type { ApiClient } from '../api-client.ts'

/** What people say of traces, each of which is said once. */
export async function annotate(client: ApiClient) {
  for (const [id, annotation] of Object.entries(ANNOTATIONS)) {
    await annotateOnce(client, id, annotation)
  }
  const doubted = Map.groupBy(await listDoubted(client), ({ reason_code: code }) => code)
  for (const traces of doubted.values()) {
    for (const [i, { trace_id: id }] of traces.slice(LEFT_OF_EACH).entries()) {
      await annotateOnce(client, id, { rating: pick(RATINGS, i), label: 'looked at' })
    }
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

/** Kept traces of which scores say too little, newest first. */
async function listDoubted(client: ApiClient) {
  const doubted: Trace[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const after: string = cursor && `&cursor=${cursor}`
    const page: TracesAnswer = await client.get(`/traces?limit=200&verdict=keep${after}`)
    doubted.push(
      ...page.traces.filter(
        ({ needs_review: isDoubted, reason_code: code }) => isDoubted && code !== 'score.conflict',
      ),
    )
    cursor = page.next_cursor
  }
  return doubted
}

/** So many of each reason stay for whoever tries the queue. */
const LEFT_OF_EACH = 3

interface Trace {
  readonly trace_id: string
  readonly reason_code: string
  readonly needs_review: boolean
}
interface TracesAnswer {
  readonly traces: readonly Trace[]
  readonly next_cursor: string | null
}
