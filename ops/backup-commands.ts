import { randomUUIDv7 } from 'node:crypto'
import { open } from 'node:fs/promises'
import { setTimeout } from 'node:timers/promises'
import Joi from 'joi'
import { watchStart } from '../api/import/upload-start.ts'
import { restoreBackup } from '../jobs/restore-backup.ts'
import { messageOf } from '../jobs/rules/core/error-message.ts'
import { bool, shape, uuid } from '../jobs/shape.ts'
import type { Sql, Transaction } from '../sql/core/db.ts'
import { findImport, insertImport } from '../sql/import/imports.ts'
import { findMainProject, findOrganization } from '../sql/org/organizations.ts'
import { submitJob } from '../sql/transactions/submit-job.ts'
import { auditOperator } from './audit.ts'
import { openProcessQueue, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { noOrganization, OperatorError } from './operator-error.ts'
import { openStorage } from './storage/open.ts'

export const backupCommands: readonly Command[] = [
  command('import-backup', {
    usage:
      'FILE --org ID [--wait] # restores a backup, gzip or not, without counting it against the quota; with --wait, tells how it ended',
    options: shape({ org: uuid(), file: Joi.string() }, { wait: bool().default(false) }),
    positional: 'file',
    async run({ org, file, wait }, { config, database }) {
      const { sql } = await database()
      if (!(await findOrganization(sql, org))) throw noOrganization(org)
      const project = await findMainProject(sql, org)
      if (!project) throw new OperatorError('The organization has no project.')
      const source = await openFile(file)
      const id = randomUUIDv7()
      const storage = await openStorage(config, sql)
      const storage_key = `imports/${id}`
      const start = watchStart(source)
      const bytes_total = await storage.write(storage_key, start.parts)
      if (!(await start.isBackup())) {
        await storage.delete(storage_key)
        throw new OperatorError(`${file} does not begin as a backup does.`)
      }
      const submitted = await withBoss(sql, async (boss) => {
        const queue = openProcessQueue(boss, sql)
        return queue.transaction(sql, async (tx: Transaction) => {
          const payload = { import_id: id, by_operator: true }
          const submission = { orgId: org, projectId: project.id, createdBy: null }
          const resultRef = `/import/${id}`
          const job_id = await submitJob(tx, queue, restoreBackup, payload, {
            ...submission,
            resultRef,
          })
          await insertImport(tx, {
            org_id: org,
            project_id: project.id,
            id,
            job_id,
            source: 'backup',
            agent_name: null,
            dry_run: false,
            connection: null,
            storage_key,
            bytes_total,
            created_at: new Date(),
          })
          await auditOperator(tx, org, 'import.restored', id, { bytes: bytes_total })
          return { import_id: id, job_id, bytes: bytes_total }
        })
      })
      return wait ? { ...submitted, ...(await waitForEnd(sql, org, id)) } : submitted
    },
  }),
]

/**
 * How an import ended, once it has.
 * @throws OperatorError where it failed or was canceled
 */
async function waitForEnd(sql: Sql, orgId: string, id: string) {
  for (;;) {
    const item = await findImport(sql, orgId, id)
    if (!item) throw new OperatorError('The import is not there any more.')
    const { state, error, imported_count, skipped_count, error_count, losses } = item
    if (state === 'succeeded')
      return { status: state, imported_count, skipped_count, error_count, losses }
    if (error && state === 'failed')
      throw new OperatorError(`The restore failed with ${error.code}: ${error.message}`)
    if (item.finished_at) throw new OperatorError(`The restore was ${state}; what it took is kept.`)
    await setTimeout(LOOK_MS)
  }
}

const LOOK_MS = 1000

/** @throws OperatorError for what is no file, or none that this process may read */
async function openFile(path: string) {
  try {
    const file = await open(path)
    if ((await file.stat()).isFile()) return file.createReadStream()
    await file.close()
  } catch (error) {
    throw new OperatorError(`The file ${path} cannot be read: ${messageOf(error)}.`)
  }
  throw new OperatorError(`${path} is no file.`)
}
