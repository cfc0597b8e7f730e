import { randomUUIDv7 } from 'node:crypto'
import { importTraces } from '../../jobs/import-traces.ts'
import { restoreBackup } from '../../jobs/restore-backup.ts'
import { FORMAT_NAMES } from '../../jobs/rules/import/detect.ts'
import { oneOf, shape } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import { isConnectionLost } from '../../sql/core/db.ts'
import type { Transaction } from '../../sql/core/db.ts'
import { insertImport } from '../../sql/import/imports.ts'
import type { NewImport } from '../../sql/import/imports.ts'
import { releaseUpload } from '../../sql/import/upload-reservations.ts'
import type { Call } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { findWritableProject } from '../projects.ts'
import { admitJob } from '../admit-job.ts'
import { answerLongWork } from '../wait.ts'
import { findImportProject, importOptions, findVisibleImport, viewImport } from './import.ts'
import { withinRoom } from './upload-room.ts'
import { watchStart } from './upload-start.ts'

export const importQuery = shape(
  {},
  {
    source: oneOf('auto', 'backup', ...FORMAT_NAMES)
      .default('auto')
      .description(
        'The one format to expect; `auto` takes each record for what it looks like, and a file that begins as a backup for one',
      ),
    ...importOptions,
  },
)

/**
 * Stores the upload, writes its row and its job in one transaction, and answers like all long work.
 * @param announced bytes of the upload; undefined where only its end will tell
 */
export async function receiveImport(
  call: ImportCall,
  parts: AsyncIterable<Uint8Array>,
  announced?: number,
) {
  const { context, principal, query } = call
  // Who may not write there is refused before the upload.
  await findWritableProject(context.sql, principal, query.project)
  const id = randomUUIDv7()
  const storage_key = `imports/${id}`
  const start = watchStart(parts)
  const room = withinRoom(context, principal, { id, announced, parts: start.parts })
  const jobId = await storeAndSubmit().catch(async (error: unknown) => {
    // What is left of either is swept. A transaction whose answer was lost may have been committed.
    if (isConnectionLost(error)) throw error
    await releaseUpload(context.sql, principal.orgId, id).catch(() => undefined)
    await context.storage.delete(storage_key).catch(() => undefined)
    throw error
  })
  async function storeAndSubmit() {
    const bytes_total = await context.storage.write(storage_key, room)
    const isBackup = query.source === 'auto' && (await start.isBackup())
    const source = isBackup ? 'backup' : query.source
    if (source === 'backup' && query.project !== undefined) throw badRequest(OWN_PROJECTS)
    return submitImport(call, {
      org_id: principal.orgId,
      id,
      source,
      agent_name: query.agent_name ?? null,
      dry_run: query.dry_run,
      connection: null,
      storage_key,
      bytes_total,
      created_at: context.now(),
    })
  }
  return answerLongWork(call, jobId, 200, async () =>
    viewImport(await findVisibleImport(context, principal, id)),
  )
}

function submitImport(
  { context, principal, query }: ImportCall,
  upload: Omit<NewImport, 'job_id' | 'project_id'>,
) {
  return context.queue.transaction(context.sql, async (tx: Transaction) => {
    const row = { ...upload, project_id: await findImportProject(tx, principal, query) }
    const submission = { projectId: row.project_id, resultRef: `/import/${row.id}` }
    const payload = { import_id: row.id }
    const job = row.source === 'backup' ? restoreBackup : importTraces
    const job_id = await admitJob(context, tx, principal, job, payload, submission)
    await insertImport(tx, { ...row, job_id })
    await releaseUpload(tx, row.org_id, row.id)
    return job_id
  })
}

const OWN_PROJECTS = 'A backup names the project of each line: leave out `project`'

type ImportCall = Pick<
  Call<unknown, Valid<typeof importQuery>, unknown>,
  'context' | 'principal' | 'query' | 'request'
>
