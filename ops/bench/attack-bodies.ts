import { gzipSync } from 'node:zlib'
import type { Attack, Stage } from './attack-stage.ts'

/** One request each, whose body costs more to read than to send. */
export const bodyAttacks: readonly Attack[] = [
  {
    name: 'gzip-bomb',
    async run(stage) {
      // As it is sent: 51 KB for 50 MiB of a list.
      const body = gzipSync(`[${listOf('{}', stage.isSmall ? 2_000_000 : 17_000_000)}]`)
      await stage.send('/api/v1/traces/batch', { body, headers: { 'content-encoding': 'gzip' } })
      return { bodyBytes: body.length }
    },
  },
  {
    name: 'long-list-scores',
    run: (stage) => post(stage, '/eval-scores', `{"scores":[${longList(stage)}]}`),
  },
  {
    name: 'long-list-traces',
    run: (stage) => post(stage, '/traces', `{"agent_name":"a","spans":[${longList(stage)}]}`),
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
