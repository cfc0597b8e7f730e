import { isUtf8 } from 'node:buffer'
import { setImmediate } from 'node:timers/promises'
import { MAX_DEPTH } from '../../jobs/rules/core/depth.ts'
import { inSteps } from '../../jobs/rules/core/in-steps.ts'
import { parseInPieces } from '../../jobs/rules/core/json-pieces.ts'
import { JsonScan, MAX_MEMBERS, MAX_VALUES } from '../../jobs/rules/core/json-scan.ts'
import { readSubmission } from '../../jobs/rules/replay/submission.ts'
import type { Submission } from '../../jobs/rules/replay/submission.ts'

/**
 * The submission in a runner's answer, as the API would read it from a request; undefined where it would
 * refuse the body. Others have their turn between the parts of a large one.
 */
export async function readResult(body: Buffer, now: Date): Promise<Submission | undefined> {
  const value = await parse(body)
  const read = await readSubmission(value, now, setImmediate)
  return 'value' in read ? read.value : undefined
}

async function parse(body: Buffer): Promise<unknown> {
  const scan = new JsonScan({ depth: MAX_DEPTH, members: MAX_MEMBERS, values: MAX_VALUES })
  for (let at = 0; at < body.length; at += PART_BYTES) {
    if (scan.take(body.subarray(at, at + PART_BYTES))) return undefined
    await setImmediate()
  }
  if (scan.end() || scan.hasProto || !isUtf8(body)) return undefined
  return inSteps(parseInPieces(body), setImmediate)
}

const PART_BYTES = 256 << 10
