import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../api-context.ts'
import { openBenchFolder } from './prepare.ts'
import type { Bench } from './prepare.ts'

/** Sends a request; a payload makes it a POST. @throws Error for another answer than 200 */
export type Ask = (path: string, payload?: object) => Promise<void>

/** Runs `work` with an API in this process, which is asked with the organization's key. */
export async function withApi({ url, key }: Bench, work: (ask: Ask) => Promise<void>) {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await openBenchFolder('api'))
  const config = readConfig({ DATA_DIR: folder.path, LOG_LEVEL: 'error' })
  const service = await openApiContext(config, url)
  opened.defer(() => service.close())
  const api = await createApi(service.context)
  opened.defer(() => api.stop())
  await work(async (path, payload) => {
    const { statusCode } = await api.inject({
      method: payload ? 'POST' : 'GET',
      url: `/api/v1${path}`,
      headers: { authorization: `Bearer ${key}` },
      ...(payload && { payload }),
    })
    if (statusCode !== 200) throw new Error(`${path} answered ${statusCode}`)
  })
}
