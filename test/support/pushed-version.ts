import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { makeBuildHandler } from '../../workers/datasets/build-dataset.ts'
import { pushDatasetHandler } from '../../workers/datasets/hub/push-dataset.ts'
import { buildDataset, pathOf } from './built-dataset.ts'
import { startHub } from './hub.ts'
import type { Interference } from './hub.ts'
import { openService } from './service.ts'
import { storeJudged } from './stored-traces.ts'
import { until } from './until.ts'

export const TOKEN = 'hf_TestTokenThatMustBeNowhere1'
export const REPO = 'acme/dialogues'

/** A service that pushes to a hub of its own, and a version of several Parquet files to push. */
export async function openPushing(t: Test, options: PushingOptions = {}) {
  const {
    partBytes = 400,
    rows = 12,
    rowBytes = 300,
    shardBytes = 1200,
    env = {},
    storageApart = false,
  } = options
  const hub = await startHub(t, { token: TOKEN, partBytes, storageApart })
  const service = await openService(t, { env: { HUB_URL: hub.url, ...env } })
  const org = await service.makeOrganization()
  const api = service.client(org.key)
  const traces = Array.from({ length: rows }, (_, i) => ({
    trace_id: `t${i}`,
    messages: [
      { role: 'user', content: `question ${i}` },
      { role: 'assistant', content: randomBytes(rowBytes / 2).toString('hex') },
    ],
  }))
  await storeJudged(service.sql, org, traces)
  const builder = await service.startWorkers([makeBuildHandler({ shardBytes })], 1)
  const version = await buildDataset(api, 'sft', { split: { train: 0.5, validation: 0.5 } })
  const path = pathOf(version)

  async function request(body: object = {}) {
    const answer = await api.post(`${path}/push`, { repo_id: REPO, token: TOKEN, ...body })
    if (answer.status !== 202) throw new Error(JSON.stringify(answer.body))
    return String(answer.body.id)
  }
  const readJob = async (id: string) => (await api.get(`/jobs/${id}`)).body
  /** Reads a job until something is true of it, on a busy machine too. */
  const untilJob = (id: string, isSo: (job: Job) => boolean) =>
    until(async () => {
      const job = await readJob(id)
      return isSo(job) && job
    })
  return {
    hub,
    service,
    org,
    api,
    version,
    path,
    builder,
    /** Requests a push; returns the id of its job. */
    request,
    readJob,
    /** The job when it has ended. */
    endOf: (id: string) => untilJob(id, ({ done }) => done),
    /** The job when it has failed, at last or for now. */
    faultOf: (id: string) => untilJob(id, ({ error }) => error !== null),
    /** The newest push. */
    readPush: async () => (await api.get(`${path}/pushes`)).body.pushes[0],
    startPusher: () => service.startWorkers([pushDatasetHandler], 1),
    /** Answers the calls with this path otherwise, so often. */
    refuse(part: string, answer: Interference, times = 1) {
      let left = times
      hub.interfere = ({ path }) => (path.includes(part) && left-- > 0 ? answer : undefined)
    },
    parquet: version.files.filter(({ format, row_count: n }) => format === 'parquet' && n > 0),
  }
}

type Job = { readonly done: boolean; readonly error: unknown }

interface PushingOptions {
  /** Larger files are uploaded in parts of it. */
  readonly partBytes?: number
  readonly rows?: number
  /** Of random text in each. */
  readonly rowBytes?: number
  /** Of the JSONL that a Parquet file is made of. */
  readonly shardBytes?: number
  /** See `startHub`. */
  readonly storageApart?: boolean
  readonly env?: Record<string, string>
}
