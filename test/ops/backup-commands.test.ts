import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { backupOf, traceLine } from '../support/backup-lines.ts'
import { runCommand } from '../support/command.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { restoreHandler } from '../../workers/import/backup/restore-backup.ts'

t.test('the operator restores a backup', async (t) => {
  const service = await openService(t, {
    env: { QUOTA_TRACES_INGESTED: '50,100000,100000,100000' },
  })
  await service.startWorkers([restoreHandler()])
  const folder = t.testdir()

  const restore = async (org: { orgId: string; key: string }, content: string) => {
    const file = join(folder, 'backup.jsonl')
    await writeFile(file, content)
    const answer = await runCommand(service, 'import-backup', { file, org: org.orgId })
    const { import_id, bytes } = answer as { import_id: string; bytes: number }
    t.equal(bytes, Buffer.byteLength(content))
    return until(async () => {
      const { body } = await service.client(org.key).get(`/import/${import_id}`)
      return body.finished_at ? body : undefined
    })
  }

  await t.test('without charging it, whatever the projects are called', async (t) => {
    const org = await service.makeOrganization()
    await service.sql`update organizations set plan = 'free' where id = ${org.orgId}`
    await service.sql`update projects set name = 'renamed' where org_id = ${org.orgId}`
    const traces = Array.from({ length: 60 }, (_, i) => traceLine(`t${i}`, { project: 'renamed' }))
    t.match(await restore(org, backupOf(traces)), { status: 'succeeded', imported_count: 60 })
  })

  await t.test('and is told what is wrong in a sentence', async (t) => {
    const org = await service.makeOrganization()
    const none = { file: join(folder, 'none'), org: org.orgId }
    await t.rejects(runCommand(service, 'import-backup', none), /^The file .*none cannot be read/)
    const notFile = { file: folder, org: org.orgId }
    await t.rejects(runCommand(service, 'import-backup', notFile), / is no file\.$/)
    const unknown = { file: folder, org: '00000000-0000-7000-8000-000000000000' }
    await t.rejects(runCommand(service, 'import-backup', unknown), /^There is no organization/)
    t.match(await restore(org, '{"kind":"backup","format":2}\n'), {
      status: 'failed',
      error: { code: 'not_a_backup', message: /^The file does not begin with the first line/ },
    })
    const file = join(folder, 'traces.jsonl')
    await writeFile(file, '{"trace_id":"a"}\n')
    const other = runCommand(service, 'import-backup', { file, org: org.orgId })
    await t.rejects(other, /traces\.jsonl does not begin as a backup does/)
    const imports = await service.sql`select from imports where org_id = ${org.orgId}`
    t.equal(imports.length, 1)
  })

  await t.test('and learns how it ended where it waits for that', async (t) => {
    const org = await service.makeOrganization()
    const file = join(folder, 'backup.jsonl')
    const asked = { file, org: org.orgId, wait: 'true' }
    await writeFile(file, backupOf([traceLine('a')]))
    const answer = await runCommand(service, 'import-backup', asked)
    t.match(answer, { status: 'succeeded', imported_count: 1, error_count: 0 })
    await writeFile(file, backupOf([traceLine('b')]).slice(0, 60))
    await t.rejects(runCommand(service, 'import-backup', asked), /failed with incomplete_backup/)
  })
})
