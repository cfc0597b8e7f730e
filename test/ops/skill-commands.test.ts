import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { runCommand } from '../support/command.ts'
import { makeSkill, publishSkill } from '../support/registry.ts'
import { openService } from '../support/service.ts'

t.test('what the operator decides of skills', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const run = (name: string, options: object = {}) => runCommand(service, name, options)
  const heldAt = async (id: string) => {
    const [row] = await sql<{ held_at: Date | null; held_note: string | null }[]>`
      select r.held_at, s.held_note from registry_skills r join registry_slugs s using (skill_id)
      where skill_id = ${id}`
    return row
  }
  const titlesOf = async (key: string) => {
    const { body } = await service.client(key).get('/changelog?types=audit')
    return JSON.stringify(body)
  }

  t.test('a published skill is withdrawn and given back', async (t) => {
    const { orgId, key } = await service.makeOrganization()
    const skill = await makeSkill(sql, orgId, { name: 'held' })
    await publishSkill(sql, skill)
    t.match(await run('skill hold', { id: skill.id, note: 'a complaint' }), {
      skill_id: skill.id,
      held_at: Date,
    })
    const first = await heldAt(skill.id)
    t.match(first, { held_at: Date, held_note: 'a complaint' })
    await run('skill hold', { id: skill.id, note: 'another' })
    t.same(await heldAt(skill.id), { ...first, held_note: 'another' }, 'held since the first')
    t.match(await run('skill release', { id: skill.id }), { held_at: null })
    t.same(await heldAt(skill.id), { held_at: null, held_note: null })
    const told = await titlesOf(key)
    t.match(told, /held.* held/, 'its changelog tells')
    t.notMatch(told, /complaint/, 'but not why')
    const secret = await makeSkill(sql, orgId, { name: 'never-public' })
    await t.rejects(
      run('skill hold', { id: secret.id, note: 'x' }),
      /never|no skill .* ever public/,
    )
  })

  t.test('a version is reviewed, with who did it and why', async (t) => {
    const { orgId } = await service.makeOrganization()
    const skill = await makeSkill(sql, orgId, { name: 'read' }, [{ body: 'x', band: 'blocked' }])
    await publishSkill(sql, skill)
    const version = skill.versionIds[0]
    const review = { version, band: 'caution', note: 'only an example', by: 'ada' }
    t.match(await run('skill review', review), {
      skill_id: skill.id,
      org_id: orgId,
      band: 'caution',
    })
    const rows =
      await sql`select band, note, reviewed_by from skill_reviews where org_id = ${orgId}`
    t.same([...rows], [{ band: 'caution', note: 'only an example', reviewed_by: 'ada' }])
    const [entry] = await sql`select band from registry_skills where skill_id = ${skill.id}`
    t.same(entry, { band: 'caution' })
    await t.rejects(
      run('skill review', { ...review, version: randomUUIDv7() }),
      /There is no version/,
    )
    await t.rejects(run('skill review', { ...review, band: 'unreviewed' }))

    const { orgId: other } = await service.makeOrganization()
    await sql`
      insert into skills select (jsonb_populate_record(k, jsonb_build_object('org_id', ${other}::text))).*
      from skills k where k.org_id = ${orgId}`
    await sql`
      insert into skill_versions
      select (jsonb_populate_record(v, jsonb_build_object('org_id', ${other}::text))).*
      from skill_versions v where v.org_id = ${orgId}`
    await t.rejects(run('skill review', review), /Several organizations .* --org/)
    t.match(await run('skill review', { ...review, band: 'passed', org: other }), { org_id: other })
    const [same] = await sql`select band from registry_skills where skill_id = ${skill.id}`
    t.same(same, { band: 'caution' }, 'a copy of another organization changes nothing public')
  })

  t.test('a handle is set while nothing is published under it', async (t) => {
    const { orgId: org } = await service.makeOrganization()
    const other = await service.makeOrganization()
    const set = (handle: string, of = org) => run('org set-handle', { org: of, handle })
    t.same(await set('acme'), { org_id: org, handle: 'acme' })
    await set('acme')
    await t.rejects(set('acme', other.orgId), /Another organization is acme/)
    await t.rejects(set('acme', randomUUIDv7()), /There is no organization/)
    for (const handle of ['Acme', 'a--b', '-a', 'a b', '', 'a'.repeat(25)])
      await t.rejects(set(handle))
    await publishSkill(sql, await makeSkill(sql, org, { name: 'named' }))
    await t.rejects(set('acme-two'), /has published skills/)
    const [row] = await sql`select handle from organizations where id = ${org}`
    t.same(row, { handle: 'acme' })
  })

  t.test('each organization has a handle of its own, however many have its name', async (t) => {
    await sql`
      insert into organizations (id, name, plan)
      select gen_random_uuid(), 'Ünï & Söhne', 'free' from generate_series(1, 600)`
    const [row] = await sql`
      select count(distinct handle)::int as handles,
        bool_and(handle ~ '^uni-sohne(-[0-9a-f]{4,})?$') as alike
      from organizations where name = 'Ünï & Söhne'`
    t.same(row, { handles: 600, alike: true })
  })
})
