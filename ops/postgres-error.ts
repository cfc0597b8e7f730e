import { resolve } from 'node:path'

/** The embedded database cannot be used; the message is a sentence for people. */
export class PostgresError extends Error {}

/** Errors of the system become sentences; those of the program stay what they are. */
export async function inPlainWords<T>(dataDir: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isOfSystem(error)) throw error
    const fault = `cannot be used (${error.message})`
    throw clusterError(dataDir, fault, 'give this user access to it', error)
  }
}

function isOfSystem(error: unknown): error is Error & { code: unknown } {
  return error instanceof Error && error.name === 'Error' && 'code' in error
}

export function clusterError(dataDir: string, fault: string, advice: string, cause?: unknown) {
  const sentence = `The database in ${resolve(dataDir)} ${fault}; ${advice}`
  return new PostgresError(`${sentence}, or set DATA_DIR to another folder.`, { cause })
}

export function missing(error: unknown): undefined {
  if (!isOfSystem(error) || error.code !== 'ENOENT') throw error
}
