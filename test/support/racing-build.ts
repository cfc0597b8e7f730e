import { buildDatasetHandler } from '../../workers/datasets/build-dataset.ts'
import { handler } from '../../workers/runtime/handler.ts'

/** Builds datasets; in its first build something happens between the list of the traces and their contents. */
export function makeRacingHandler(meanwhile: () => Promise<unknown>) {
  const { job, work } = buildDatasetHandler
  let isOver = false
  return handler(job, (payload, run) => {
    async function begin(...args: Parameters<typeof run.sql.begin>) {
      const result = await run.sql.begin(...args)
      // The list is read in the only transaction that names its isolation.
      if (typeof args[0] === 'string' && !isOver) await meanwhile()
      isOver ||= typeof args[0] === 'string'
      return result
    }
    const sql = new Proxy(run.sql, {
      get: (target, name) => (name === 'begin' ? begin : (Reflect.get(target, name) as unknown)),
    })
    return work(payload, { ...run, sql })
  })
}
