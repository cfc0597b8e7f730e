import { resolve } from 'node:path'

/**
 * What a program needs of the environment to be found and to start quickly, and nothing of what whoever
 * runs the tests has set besides.
 */
export function bareEnv(): Readonly<Record<string, string | undefined>> {
  const { PATH, NODE_COMPILE_CACHE } = process.env
  return { PATH, ...(NODE_COMPILE_CACHE && { NODE_COMPILE_CACHE: resolve(NODE_COMPILE_CACHE) }) }
}
