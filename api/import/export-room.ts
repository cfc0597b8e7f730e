import { limitReached } from '../rate-limit.ts'

/** Exports of backups that this process has under way, by organization. */
const exporting = new Map<string, number>()

/**
 * Takes one of the places that an organization has for its backups.
 * @returns the function that gives it back; later calls give back nothing
 * @throws ApiError 429
 */
export function enterExports(orgId: string): () => void {
  const others = exporting.get(orgId) ?? 0
  if (others >= MOST_AT_ONCE) {
    const detail = `${MOST_AT_ONCE} backups of the organization are being exported already`
    throw limitReached('concurrent_exports', RETRY_SECONDS, 'too_many_at_once', detail)
  }
  exporting.set(orgId, others + 1)
  let hasLeft = false
  return () => {
    if (hasLeft) return
    hasLeft = true
    const left = (exporting.get(orgId) ?? 1) - 1
    if (left > 0) exporting.set(orgId, left)
    else exporting.delete(orgId)
  }
}

const MOST_AT_ONCE = 2
const RETRY_SECONDS = 30
