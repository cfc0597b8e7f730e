import t from 'tap'
import type { Owner } from '../support/backup/backups.ts'
import { linesOf, openBackups, withEnd } from '../support/backup/backups.ts'
import { assignSkill, makeSkill, nameOrganization, publishSkill } from '../support/registry.ts'
import { openService } from '../support/service.ts'
import { restoreHandler } from '../../workers/import/backup/restore-backup.ts'
import { scanSkillHandler } from '../../workers/skills/scan-skill.ts'

const service = await openService(t)
const { sql } = service
await service.startWorkers([restoreHandler(), scanSkillHandler])
const { take, restore } = openBackups(service)

t.test('uses of what others published come back by their public names', async (t) => {
  const publisher = await service.makeOrganization()
  await nameOrganization(sql, publisher.orgId, 'acme')
  const skill = await makeSkill(sql, publisher.orgId, { name: 'deploy' }, [
    { body: 'One' },
    { body: 'Two' },
  ])
  await publishSkill(sql, skill)
  const owner = await service.makeOrganization()
  await assignSkill(sql, owner, 'held', skill, skill.versionIds[0])
  await assignSkill(sql, owner, 'latest', skill)
  const file = await take(owner)
  t.match(
    linesOf(file)
      .map((line) => JSON.parse(line) as object)
      .filter(isAssignment),
    [
      { agent_name: 'held', url_slug: 'acme-deploy', version_number: 1 },
      { agent_name: 'latest', url_slug: 'acme-deploy', version_number: null },
    ],
  )

  const other = await service.makeOrganization()
  t.match(await restore(other, file), { status: 'succeeded', error_count: 0 })
  t.same(await assignments(other), [
    { agent_name: 'held', skill_id: skill.id, version_id: skill.versionIds[0] },
    { agent_name: 'latest', skill_id: skill.id, version_id: null },
  ])
  t.equal(await take(other), file)

  const elsewhere = linesOf(file)
    .slice(0, -1)
    .map((line) => line.replace('acme-deploy', 'gone'))
  const { id } = await restore(await service.makeOrganization(), withEnd(elsewhere))
  const rows = await sql`select code from import_errors where import_id = ${id}`
  t.same(
    rows.map(({ code }) => code as string),
    ['unknown_reference', 'unknown_reference'],
  )
})

t.test('an own skill with the id of a public one is used as the own one', async (t) => {
  const publisher = await service.makeOrganization()
  await nameOrganization(sql, publisher.orgId, 'copied')
  const skill = await makeSkill(sql, publisher.orgId, { name: 'deploy' })
  await publishSkill(sql, skill)
  await assignSkill(sql, publisher, 'shop', skill)
  const file = await take(publisher)
  const other = await service.makeOrganization()
  t.match(await restore(other, file), { status: 'succeeded', error_count: 0 })
  t.equal(await take(other), file)
})

t.test(
  'an agent held to a version made after the start is not said to take the latest',
  async (t) => {
    const owner = await service.makeOrganization()
    const skill = await makeSkill(sql, owner.orgId, { name: 'deploy' }, [
      { body: '1' },
      { body: '2' },
    ])
    await assignSkill(sql, owner, 'early', skill, skill.versionIds[0])
    await assignSkill(sql, owner, 'late', skill, skill.versionIds[1])
    await sql`update skill_versions set created_at = now() + '1 h' where id = ${skill.versionIds[1] ?? ''}`
    const lines = linesOf(await take(owner)).map((line) => JSON.parse(line) as object)
    t.match(lines.filter(isAssignment), [{ agent_name: 'early', version_number: 1 }])
    t.equal(lines.filter(isAssignment).length, 1)
  },
)

async function assignments({ orgId }: Owner) {
  const rows = await sql`
    select agent_name, skill_id, version_id from skill_assignments
    where org_id = ${orgId} order by agent_name`
  return rows.map((row) => ({ ...row }))
}

function isAssignment(line: object) {
  return 'kind' in line && String(line.kind).endsWith('skill_assignment')
}
