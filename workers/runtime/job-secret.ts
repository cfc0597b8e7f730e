import { openSecret } from '../../jobs/rules/core/secret-box.ts'
import { findSecret } from '../../sql/jobs/job-secrets.ts'
import { GiveUp } from './give-up.ts'
import type { Run } from './handler.ts'

/**
 * The secret that a job was given; undefined when it was given none.
 * @param name what it is, for messages: `The <name> ended with the job`
 * @throws GiveUp when it has ended with the job, or was sealed with another master key
 */
export async function openJobSecret(
  { sql, orgId, jobId, outbound }: Run,
  name: string,
): Promise<string | undefined> {
  const sealed = jobId && (await findSecret(sql, orgId, jobId))
  if (sealed === null)
    throw new GiveUp('secret_gone', `The ${name} ended with the job: submit it again`)
  if (!sealed) return undefined
  try {
    return openSecret(outbound.masterKeys, sealed)
  } catch {
    throw new GiveUp('secret_unreadable', `The ${name} was sealed with another master key`)
  }
}
