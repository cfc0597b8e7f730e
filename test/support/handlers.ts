import { POOLS } from '../../workers/pool-names.ts'
import type { PoolName } from '../../workers/pool-names.ts'
import { pools } from '../../workers/pools.ts'
import type { Pool } from '../../workers/pools.ts'

/** The handlers of these pools. */
export async function loadHandlers(names: readonly PoolName[] = POOLS) {
  const loaded = await Promise.all(names.map(async (name) => (pools[name] as Pool).load()))
  return loaded.flatMap(({ handlers }) => handlers)
}
