import type { Test } from 'tap'
import type { PlatformName } from '../../../jobs/rules/import/platforms.ts'
import { openImports } from '../imports.ts'
import type { Service } from '../service.ts'
import { PLATFORM_KEY, PROJECT_NAME, PUBLIC_KEY } from './connection.ts'
import type { Double, DoubleFaults, DoubleOptions } from './double.ts'
import { startLangfuse } from './langfuse-double.ts'
import { startLangsmith } from './langsmith-double.ts'
import { OPIK_WORKSPACE, startOpik } from './opik-double.ts'
import { startPhoenix } from './phoenix-double.ts'
import { FIRST_DAY, LAST_DAY } from './platform-traces.ts'
import type { PlatformTrace } from './platform-traces.ts'

const LANGFUSE_KEYS = { public_key: PUBLIC_KEY, secret_key: PLATFORM_KEY }

/** Each platform's double, with what its connection has beside address and project. */
export const DOUBLES: Readonly<Record<string, DoubleKind>> = {
  langfuse: { source: 'langfuse', start: startLangfuse, keys: LANGFUSE_KEYS },
  'langfuse before version 4': {
    source: 'langfuse',
    start: (t, traces, options) => startLangfuse(t, traces, { ...options, isOld: true }),
    keys: LANGFUSE_KEYS,
  },
  langsmith: { source: 'langsmith', start: startLangsmith, keys: { api_key: PLATFORM_KEY } },
  phoenix: { source: 'phoenix', start: startPhoenix, keys: { api_key: PLATFORM_KEY } },
  opik: {
    source: 'opik',
    start: startOpik,
    keys: { api_key: PLATFORM_KEY, workspace: OPIK_WORKSPACE },
    faults: { silent: 2 },
  },
}

export interface DoubleKind {
  readonly source: PlatformName
  readonly start: (
    t: Test,
    traces: readonly PlatformTrace[],
    options?: DoubleOptions,
  ) => Promise<Double & { readonly records: readonly object[] }>
  readonly keys: Readonly<Record<string, string>>
  /** Those that only this platform has. */
  readonly faults?: DoubleFaults
}

/** Pulls from doubles, and imports what they have as files, which leaves the same behind. */
export function openPulls(t: Test, service: Service) {
  const imports = openImports(t, service)

  /**
   * Asks for all that a double has.
   * @param options what is told of the connection in the place of the truth, and what else is asked
   */
  async function pull(
    { source, keys }: Pick<DoubleKind, 'source' | 'keys'>,
    { url }: Pick<Double, 'url'>,
    { owner, connection, ...asked }: PullOptions = {},
  ) {
    const org = owner ?? (await service.makeOrganization())
    const body = {
      source,
      connection: { base_url: url, project: PROJECT_NAME, ...keys, ...connection },
      since: FIRST_DAY.toISOString(),
      until: LAST_DAY.toISOString(),
      ...asked,
    }
    return imports.follow(org, await service.client(org.key).post('/import', body, ASYNC))
  }

  /** What importing all records of a double as a file leaves behind. */
  async function stateOfFile(
    { source }: DoubleKind,
    { records }: { readonly records: readonly object[] },
  ) {
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

  return { ...imports, pull, stateOfFile, hurry }
}

interface PullOptions {
  readonly owner?: Organization
  readonly connection?: object
  readonly since?: string
  readonly dry_run?: boolean
  readonly project?: string
}
type Organization = Awaited<ReturnType<Service['makeOrganization']>>

const ASYNC = { prefer: 'respond-async' }
