import { openImports } from '../imports.ts'
import type { Service } from '../service.ts'
import type { Test } from 'tap'
import { PLATFORM_KEY, PROJECT_NAME, PUBLIC_KEY } from './connection.ts'
import type { Double } from './double.ts'
import { startLangfuse } from './langfuse-double.ts'
import { startLangsmith } from './langsmith-double.ts'
import { OPIK_WORKSPACE, startOpik } from './opik-double.ts'
import { startPhoenix } from './phoenix-double.ts'
import { FIRST_DAY, LAST_DAY } from './platform-traces.ts'

/** Each platform's double, with what its connection has beside address and project. */
export const DOUBLES = {
  langfuse: {
    start: startLangfuse,
    keys: { public_key: PUBLIC_KEY, secret_key: PLATFORM_KEY },
  },
  langsmith: { start: startLangsmith, keys: { api_key: PLATFORM_KEY } },
  phoenix: { start: startPhoenix, keys: { api_key: PLATFORM_KEY } },
  opik: { start: startOpik, keys: { api_key: PLATFORM_KEY, workspace: OPIK_WORKSPACE } },
} as const
export type DoubleName = keyof typeof DOUBLES

/** Pulls from doubles, and imports what they have as files, which leaves the same behind. */
export function openPulls(t: Test, service: Service) {
  const imports = openImports(t, service)

  /** The body of a request for all that a double has. */
  function requestFor(source: DoubleName, base_url: string, connection: object = {}) {
    return {
      source,
      connection: { base_url, project: PROJECT_NAME, ...DOUBLES[source].keys, ...connection },
      since: FIRST_DAY.toISOString(),
      until: LAST_DAY.toISOString(),
    }
  }

  async function pull(
    source: DoubleName,
    { url }: Pick<Double, 'url'>,
    connection?: object,
    owner?: Awaited<ReturnType<Service['makeOrganization']>>,
  ) {
    const org = owner ?? (await service.makeOrganization())
    const body = requestFor(source, url, connection)
    return imports.follow(org, await service.client(org.key).post('/import', body, ASYNC))
  }

  /** What importing all records of a double as a file leaves behind. */
  async function stateOfFile(source: DoubleName, { records }: { records: readonly object[] }) {
    const lines = records.map((record) => JSON.stringify(record)).join('\n')
    const imported = await imports.submit(lines, `?source=${source}`)
    const shown = await imported.ended()
    t.equal(shown.error_count, 0)
    return imports.stateOf(imported)
  }

  /** The queue waits for no retry of a pull until the test ends. */
  function hurry() {
    const timer = setInterval(() => {
      service.sql`
        update pgboss.job set start_after = now()
        where name = 'import.pull' and state < 'active'`.catch(() => undefined)
    }, 200)
    t.teardown(() => clearInterval(timer))
  }

  return { ...imports, requestFor, pull, stateOfFile, hurry }
}

const ASYNC = { prefer: 'respond-async' }
