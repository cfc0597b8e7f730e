import { gzipSync } from 'node:zlib'
import type { Attack, Stage } from './attack-stage.ts'

/** One request each, whose body costs more to read than to send. */
export const bodyAttacks: readonly Attack[] = [
  {
    name: 'gzip-bomb',
    async run(stage) {
      // 50 KB as sent, and 50 MiB of a list.
      const list = `[${listOf('{}', stage.isSmall ? 2_000_000 : 17_000_000)}]`
      const headers = { 'content-encoding': 'gzip', prefer: 'respond-async' }
      const body = gzipSync(list)
      await stage.send('/api/v1/traces/batch', { body, headers })
      await stage.send('/api/v1/import/traces', { body: gzipSync(`{"traces":${list}}`), headers })
      return { bodyBytes: body.length }
    },
  },
  {
    name: 'long-list-scores',
    async run(stage) {
      const body = `{"scores":[${longList(stage)}]}`
      await post(stage, '/eval-scores', body)
      await post(stage, '/traces/searched/eval-scores', body)
    },
  },
  {
    name: 'long-list-traces',
    run: (stage) => post(stage, '/traces', `{"agent_name":"a","spans":[${longList(stage)}]}`),
  },
  {
    name: 'long-lists',
    async run(stage) {
      const list = longList(stage)
      await post(stage, '/manifests', `{"agent_name":"a","components":[${list}]}`)
      await post(stage, '/evaluators/register', `{"evaluators":[${list}]}`)
      await post(stage, '/traces/batch-decision', `{"trace_ids":[${list}]}`)
    },
  },
  {
    name: 'deep',
    async run(stage) {
      const depth = stage.isSmall ? 200_000 : 2_000_000
      const nested = `${'['.repeat(depth)}${']'.repeat(depth)}`
      await post(stage, '/traces', `{"agent_name":"a","metadata":{"a":${nested}}}`)
      await post(stage, '/traces', nested)
    },
  },
  {
    name: 'wide',
    async run(stage) {
      const members = Array.from(
        { length: stage.isSmall ? 40_000 : 400_000 },
        (_, i) => `"k${i}":1`,
      )
      await post(stage, '/traces', `{"agent_name":"a","metadata":{${members.join()}}}`)
      await post(stage, '/traces', `{"agent_name":"a",${members.join()}}`)
    },
  },
]

async function post(stage: Stage, path: string, body: string) {
  await stage.send(`/api/v1${path}`, { body })
}

/** As many elements as 5 MiB hold. */
function longList({ isSmall }: Stage) {
  return listOf('{}', isSmall ? 100_000 : 1_700_000)
}

function listOf(element: string, count: number) {
  return `${element},`.repeat(count - 1) + element
}
