import { pools } from '../../workers/pools.ts'
import type { AnyHandler } from '../../workers/runtime/handler.ts'

/** The handlers of these pools. */
export async function loadHandlers(names: readonly string[] = Object.keys(pools)) {
  const loaded = await Promise.all(names.map(async (name) => pools[name]?.load()))
  return loaded.flatMap((pool): readonly AnyHandler[] => pool?.handlers ?? [])
}
