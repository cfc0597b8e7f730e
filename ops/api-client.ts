import { setTimeout } from 'node:timers/promises'

/** A client of the API as anybody could write it: JSON in and out, waiting as long as the API asks. */
export interface ApiClient {
  readonly base: string
  get<T>(path: string): Promise<T>
  /** Changes something. @param allowed statuses that are no error beside 200 and 201, for which undefined is returned */
  post<T>(path: string, body: unknown, options?: PostOptions): Promise<T | undefined>
  /** The end of a job, however long it takes. @throws Error when it did not succeed */
  waitForJob(id: string): Promise<void>
}

export interface PostOptions {
  readonly allowed?: readonly number[]
  /** Media type of a body that is text already; default `application/json`. */
  readonly type?: string
  /** Default POST. */
  readonly method?: 'POST' | 'PUT' | 'PATCH'
}

/** @param end aborted when the caller wants no more */
export function openApiClient(address: string, key: string, end: AbortSignal): ApiClient {
  const base = `${address}/api/v1`
  async function send(path: string, sending: Sending = {}): Promise<unknown> {
    const { type, body, allowed = [], method = 'POST' } = sending
    const response = await fetch(`${base}${path}`, {
      method: body === undefined ? 'GET' : method,
      headers: {
        authorization: `Bearer ${key}`,
        prefer: 'wait=55',
        ...(type && { 'content-type': type }),
      },
      ...(body !== undefined && { body }),
      signal: end,
    })
    if (response.status === 429) {
      const seconds = Number(response.headers.get('retry-after') ?? 1)
      await setTimeout(seconds * 1000, undefined, { signal: end })
      return send(path, sending)
    }
    const answer = (await response.json()) as { detail?: unknown }
    if (allowed.includes(response.status)) return undefined
    if (response.ok) return answer
    throw new Error(`${path} answered ${response.status}: ${String(answer.detail)}`)
  }
  const client: ApiClient = {
    base,
    get: (path) => send(path) as Promise<never>,
    post(path, body, { type = 'application/json', ...options } = {}) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      return send(path, { ...options, type, body: text }) as Promise<never>
    },
    async waitForJob(id) {
      for (;;) {
        const job = await client.get<JobAnswer>(`/jobs/${id}?wait=55`)
        if (job.state === 'succeeded') return
        if (job.done) throw new Error(`${job.kind} ${job.state}: ${job.error?.message}`)
      }
    },
  }
  return client
}

interface Sending extends PostOptions {
  readonly body?: string
}

interface JobAnswer {
  readonly kind: string
  readonly state: string
  readonly done: boolean
  readonly error: { message: string } | null
}
