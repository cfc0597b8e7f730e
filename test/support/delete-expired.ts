import { deleteExpired } from '../../jobs/delete-expired.ts'
import type { Transaction } from '../../sql/core/db.ts'
import type { Service } from './service.ts'
import { until } from './until.ts'

/**
 * Has deleted what is kept no longer, and waits for the end. An attempt that failed is repeated half a
 * minute later, which on a busy machine a lock may cause; standard error says then why.
 */
export async function runDeleteExpired({ context, sql, boss }: Service) {
  const id = await context.queue.transaction(sql, (tx: Transaction) =>
    context.queue.enqueue(tx, deleteExpired, {}, { orgId: null }),
  )
  const find = async () => (await boss.findJobs(deleteExpired.name, { id: id as string }))[0]
  let told = false
  await until(async () => {
    const job = await find()
    if (job?.state !== 'completed' && job?.output && !told) {
      told = true
      process.stderr.write(`${deleteExpired.name} did not succeed: ${JSON.stringify(job.output)}\n`)
    }
    return job?.state === 'completed'
  })
}
