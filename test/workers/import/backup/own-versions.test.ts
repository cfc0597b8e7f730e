import { randomUUID } from 'node:crypto'
import t from 'tap'
import { policyHash, resolvePolicy } from '../../../../jobs/rules/evals/decision-policy.ts'
import { restoreHandler } from '../../../../workers/import/backup/restore-backup.ts'
import { openRestores } from '../../../support/backup/restores.ts'
import { skillLine, versionLine } from '../../../support/backup/skill-lines.ts'
import { backupOf } from '../../../support/backup-lines.ts'
import type { TestLine } from '../../../support/backup-lines.ts'
import { openService } from '../../../support/service.ts'

t.test('versions of a backup beside those of the organization', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const restore = openRestores(t, service)
  // Lines about one thing are cut into several chunks.
  await service.startWorkers([restoreHandler({ chunkBytes: 100 })])
  const policies = [0.81, 0.82, 0.83, 0.84].map(policyLine)
  const skills = [
    skillLine('tidy'),
    ...['one', 'two', 'three'].map((body, i) =>
      versionLine('tidy', { body, version_number: i + 1 }),
    ),
  ]
  const versions = async ({ orgId }: { orgId: string }) => {
    const ofPolicies = await sql`
      select settings->'keep_at' as what from decision_policies where org_id = ${orgId} order by version`
    const ofSkills = await sql`
      select body as what from skill_versions where org_id = ${orgId} order by version_number`
    return [ofPolicies.map(({ what }) => what), ofSkills.map(({ what }) => what)]
  }

  await t.test('are not put on top of others', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    await client.put('/decision-policy', { thresholds: { keep_at: 0.9 } })
    await client.post('/skills', { name: 'tidy', body_markdown: 'one' })
    await client.put('/skills/tidy', { body_markdown: 'own' })
    const ended = await restore(backupOf([...policies, ...skills]), org)
    t.match(ended.shown, { status: 'succeeded', error_count: 0, losses: { conflict: 6 } })
    t.same(await versions(org), [[0.9], ['one', 'own']])
  })

  await t.test('come after those that are there as the backup has them', async (t) => {
    const first = await restore(backupOf([...policies.slice(0, 2), ...skills.slice(0, 2)]))
    t.match(first.shown, { status: 'succeeded', losses: {} })
    const whole = backupOf([...policies, ...skills])
    t.match((await restore(whole, first)).shown, { status: 'succeeded', losses: {} })
    const all = [
      [0.81, 0.82, 0.83, 0.84],
      ['one', 'two', 'three'],
    ]
    t.same(await versions(first), all)
    t.match((await restore(whole, first)).shown, { losses: {} })
    t.same(await versions(first), all)
  })

  await t.test('stay away where the organization went on by itself', async (t) => {
    const first = await restore(backupOf([...policies.slice(0, 2), ...skills.slice(0, 2)]))
    const client = service.client(first.key)
    await client.put('/decision-policy', { thresholds: { keep_at: 0.9 } })
    await client.put('/skills/tidy', { body_markdown: 'own' })
    const ended = await restore(backupOf([...policies, ...skills]), first)
    t.match(ended.shown, { status: 'succeeded', losses: { conflict: 4 } })
    t.same(await versions(first), [
      [0.81, 0.82, 0.9],
      ['one', 'own'],
    ])
  })
})

function policyLine(keep_at: number, i: number): TestLine {
  const settings = resolvePolicy({ thresholds: { keep_at } })
  return {
    kind: 'decision_policy',
    project: 'default',
    agent_name: '',
    version: i + 1,
    preset: 'default',
    settings,
    content_hash: policyHash(settings),
    created_by: randomUUID(),
    created_at: '2026-03-01T10:00:00.000Z',
  }
}
