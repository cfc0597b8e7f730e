import type { Queryable, Transaction } from '../core/db.ts'
import type { SealedSecret } from '../core/sealed-secret.ts'

/** A sealed secret of a job that has not ended. */
export interface JobSecret extends SealedSecret {
  job_id: string
}

/**
 * Stores what a job needs and nobody may read, in the transaction that submits the job. A trigger deletes
 * it when the job ends; that there was one can be told for as long as the job is kept.
 */
export async function putSecret(tx: Transaction, orgId: string, jobId: string, sealed: Buffer) {
  await tx`update jobs set has_secret = true where org_id = ${orgId} and id = ${jobId}`
  await tx`
    insert into job_secrets (org_id, job_id, sealed) values (${orgId}, ${jobId}, ${sealed})`
}

/** The sealed secret of a job: null when it has ended with the job, undefined when there was none. */
export async function findSecret(sql: Queryable, orgId: string, jobId: string) {
  const [row] = await sql<{ sealed: Buffer | null }[]>`
    select s.sealed from jobs j
    left join job_secrets s on s.org_id = j.org_id and s.job_id = j.id
    where j.org_id = ${orgId} and j.id = ${jobId} and j.has_secret`
  return row?.sealed
}

/** The sealed secrets of the jobs after one, in the order of their organizations and ids. */
export async function listJobSecrets(sql: Queryable, after: JobSecret | null, limit: number) {
  return sql<JobSecret[]>`
    select org_id, job_id, sealed as secret from job_secrets
    ${after ? sql`where (org_id, job_id) > (${after.org_id}, ${after.job_id})` : sql``}
    order by org_id, job_id limit ${limit}`
}

/** Replaces a sealed secret by the same one sealed anew; false when the job has ended meanwhile. */
export async function replaceJobSecret(sql: Queryable, from: JobSecret, to: Buffer) {
  const updated = await sql`
    update job_secrets set sealed = ${to}
    where org_id = ${from.org_id} and job_id = ${from.job_id} and sealed = ${from.secret}`
  return updated.count === 1
}
