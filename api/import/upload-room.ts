import { retryAfter } from '../../jobs/rules/webhooks/retry-after.ts'
import { importTraces } from '../../jobs/import-traces.ts'
import { isDatabaseAway } from '../../sql/core/db.ts'
import { reserveUpload } from '../../sql/import/upload-reservations.ts'
import type { ApiContext } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { limitReached } from '../rate-limit.ts'

/**
 * Passes an upload on while it has room among the uploads that the plan lets the organization have
 * stored. What it takes is reserved before it comes: all of it where its length is announced, otherwise
 * a step ahead.
 * @param announced bytes; undefined where only the end will tell
 * @throws ApiError 413 when it would not fit even alone, 429 when others have taken the room
 */
export async function* withinRoom(
  context: ApiContext,
  principal: Principal,
  { id, announced, parts }: Upload,
) {
  const limit = context.uploadBytes[principal.plan]
  const { orgId } = principal
  let [sent, reserved, renewedAt] = [0, 0, 0]
  async function reserve(needed: number) {
    const bytes = Math.max(needed, announced ?? sent + STEP_BYTES)
    renewedAt = performance.now()
    reserved = await reserveUpload(context.sql, { orgId, id, bytes, limit })
    if (needed > limit) throw neverFits(limit)
    if (reserved < needed) throw await noRoom(context, principal, limit)
  }
  await reserve(announced ?? 0)
  for await (const part of parts) {
    sent += part.length
    if (sent > reserved) await reserve(sent)
    // A reservation holds for minutes: an upload outlives a database that is away for some seconds.
    else if (performance.now() - renewedAt > RENEW_MS) await reserve(sent).catch(ignoreAway)
    yield part
  }
}

function ignoreAway(error: unknown) {
  if (!isDatabaseAway(error)) throw error
}

function neverFits(limit: number) {
  const detail = `The upload is larger than the ${shown(limit)} bytes of uploads that the plan allows at once; send it in parts`
  return new ApiError(413, 'payload_too_large', detail)
}

async function noRoom({ waiter }: ApiContext, { orgId }: Principal, limit: number) {
  const seconds = retryAfter(0, await waiter.usualSeconds(orgId, importTraces.name))
  const detail = `stored_uploads: the plan allows ${shown(limit)} bytes of uploads whose imports have not ended; send it again when some have`
  return limitReached('stored_uploads', seconds, 'too_many_uploads', detail)
}

function shown(n: number) {
  return n.toLocaleString('en')
}

/** Few queries a gigabyte, and little that one upload keeps from others. */
const STEP_BYTES = 16 << 20
/** Well within the time that a reservation lasts. */
const RENEW_MS = 60_000

interface Upload {
  /** Of the import. */
  readonly id: string
  readonly announced: number | undefined
  readonly parts: AsyncIterable<Uint8Array>
}
