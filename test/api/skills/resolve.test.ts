import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { NOTES } from '../../../jobs/rules/skills/resolution.ts'
import { hashBody } from '../../../jobs/rules/skills/skill.ts'
import { recordStatements } from '../../support/recorded-statements.ts'
import { assignSkill, makeSkill, nameOrganization, publishSkill } from '../../support/registry.ts'
import type { MadeSkill } from '../../support/registry.ts'
import { createDatabase } from '../../support/database.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('resolving', async (t) => {
  const recorder = await recordStatements(t, await createDatabase(t))
  const service = await openService(t, { url: recorder.url })
  const { sql } = service
  let organizations = 0

  /** An organization with a handle of its own, and how it resolves. */
  async function setUp() {
    const org = await service.makeOrganization()
    const handle = `org${++organizations}`
    await nameOrganization(sql, org.orgId, handle)
    const { post, get } = service.client(org.key)
    async function resolve(items: object[], more: object = {}) {
      const { status, body } = await post('/registry/install/resolve', { items, ...more })
      t.equal(status, 200, JSON.stringify(body))
      return body.items
    }
    return { ...org, handle, post, get, resolve }
  }

  /** A skill of another organization. */
  async function makePublic(name: string, versions?: Parameters<typeof makeSkill>[3]) {
    const owner = await setUp()
    const skill = await makeSkill(sql, owner.orgId, { name }, versions)
    await publishSkill(sql, skill)
    return { ...skill, registryName: `${owner.handle}/${name}` }
  }

  t.test('tells all of a public skill, in the foreign variant', async (t) => {
    const { resolve } = await setUp()
    const owner = await setUp()
    const skill = await makeSkill(
      sql,
      owner.orgId,
      {
        name: 'forms',
        description: 'Fills in forms',
        frontmatter: { notes: 'private', license: 'MIT' },
      },
      [
        { body: 'One' },
        { body: 'Two', band: 'caution', files: { 'run.sh': 'echo', 'A.md': '# A' } },
      ],
    )
    await publishSkill(sql, skill)
    const [item] = await resolve([{ ref: `${owner.handle}/forms` }])
    const file = await service.server.inject(`/api/v1/registry/skills/${skill.id}/files/SKILL.md`)
    t.same(item, {
      ok: true,
      ref: `${owner.handle}/forms`,
      error: null,
      skill_id: skill.id,
      org_id: owner.orgId,
      registry_name: `${owner.handle}/forms`,
      url_slug: `${owner.handle}-forms`,
      install_name: 'forms',
      install_name_base: 'forms',
      install_name_disambiguated: `${owner.handle}-forms`,
      version_id: skill.versionIds[1],
      version: 2,
      latest: { version_id: skill.versionIds[1], version: 2 },
      render: { format: 1, hash: hashBody(file.payload).toString('hex'), variant: 'foreign' },
      body_sha256: hashBody('Two').toString('hex'),
      description_sha256: hashBody('Fills in forms').toString('hex'),
      invocation: 'any',
      relationship: 'public',
      files: [
        { path: 'A.md', sha256: hashBody('# A').toString('hex'), mode: '0644' },
        { path: 'SKILL.md', sha256: hashBody(file.payload).toString('hex'), mode: '0644' },
        { path: 'run.sh', sha256: hashBody('echo').toString('hex'), mode: '0644' },
      ],
      unavailable: [],
      policy_notes: [],
      safety: { band: 'caution', withheld: false },
    })
    t.notMatch(file.payload, 'private')
    t.match(file.payload, 'license: MIT')
  })

  t.test('finds a skill by any of its names', async (t) => {
    const { orgId, handle, resolve } = await setUp()
    const own = await makeSkill(sql, orgId, { name: 'own-one' })
    const other = await makePublic('other-one')
    const refs: [string, MadeSkill][] = [
      [own.id, own],
      [own.id.toUpperCase(), own],
      ['own-one', own],
      [`${handle}/own-one`, own],
      ['ＯＷＮ-One', own],
      [other.id, other],
      ['other-one', other],
      [other.registryName, other],
      [other.registryName.replace('/', '-'), other],
      ['Folder', other],
    ]
    const items = await resolve(
      refs.map(([ref]) => ({ ref })),
      { taken: { Folder: other.id } },
    )
    for (const [index, [ref, skill]] of refs.entries()) {
      t.match(items[index], { ok: true, ref, skill_id: skill.id }, ref)
    }
  })

  t.test('takes an own name for that before it takes it for the slug of another', async (t) => {
    const { orgId, handle, resolve } = await setUp()
    const published = await makeSkill(sql, orgId, { name: 'refunds' })
    await publishSkill(sql, published)
    const slug = `${handle}-refunds`
    t.match(await resolve([{ ref: slug }]), [{ ok: true, skill_id: published.id }])
    const named = await makeSkill(sql, orgId, { name: slug })
    t.match(await resolve([{ ref: slug }]), [{ ok: true, skill_id: named.id }])
  })

  t.test('looks among own skills first, then those used, then public ones', async (t) => {
    const org = await setUp()
    const [first, second] = [await makePublic('same'), await makePublic('same')]
    const [ambiguous] = await org.resolve([{ ref: 'same' }])
    t.same(ambiguous.error, {
      code: 'ambiguous_ref',
      message: `Several skills answer to same, such as ${first.registryName}, ${second.registryName}`,
    })
    await assignSkill(sql, org, 'agent', second)
    const [used] = await org.resolve([{ ref: 'same' }])
    t.match(used, { skill_id: second.id, relationship: 'used', render: { variant: 'foreign' } })
    t.same(used.policy_notes, [NOTES.refShadowed])
    const own = await makeSkill(sql, org.orgId, { name: 'same' })
    const fork = await makeSkill(sql, org.orgId, { name: 'forked', forkOf: first })
    const items = await org.resolve([
      { ref: 'same' },
      { ref: 'forked' },
      { ref: first.registryName },
    ])
    t.match(items, [
      { skill_id: own.id, relationship: 'owned', render: { variant: 'own' } },
      { skill_id: fork.id, relationship: 'forked', render: { variant: 'own' } },
      { skill_id: first.id, relationship: 'public' },
    ])
  })

  t.test('counts assignments of the projects that the key sees only', async (t) => {
    const org = await setUp()
    const skill = await makePublic('assigned', [{ body: '1' }, { body: '2' }])
    await assignSkill(sql, org, 'agent', skill, skill.versionIds[0])
    const beside = await org.post('/projects', { name: 'beside', workspace_id: org.workspaceId })
    const key = await makeTestKey(sql, org.orgId, {
      scope: 'project',
      permissions: 'write',
      workspace_id: org.workspaceId,
      project_id: beside.body.id,
    })
    const { body } = await service
      .client(key.raw)
      .post('/registry/install/resolve', { items: [{ ref: 'assigned' }] })
    t.match(body.items, [{ relationship: 'public', version: 2 }])
    t.match(await org.resolve([{ ref: 'assigned' }]), [{ relationship: 'used', version: 1 }])
  })

  t.test('gives the version asked for', async (t) => {
    const { resolve } = await setUp()
    const skill = await makePublic('versions', [{ body: '1' }, { body: '2' }, { body: '3' }])
    const other = await makePublic('other')
    const version = async (more: object) => (await resolve([{ skill_id: skill.id, ...more }]))[0]
    t.match(await version({}), { version: 3 })
    t.match(await version({ version: 'latest' }), { version: 3 })
    t.match(await version({ version: 1 }), { version: 1, latest: { version: 3 } })
    t.match(await version({ version: '2' }), { version: 2, version_id: skill.versionIds[1] })
    t.match(await version({ version_id: skill.versionIds[0] }), { version: 1 })
    for (const unknown of [
      { version: 4 },
      { version_id: other.versionIds[0] },
      { version_id: 'x' },
    ]) {
      t.match(await version(unknown), { ok: false, error: { code: 'version_not_found' } })
    }
    for (const odd of [
      { version: 'newest' },
      { version: '0' },
      { version: 1, version_id: skill.id },
    ]) {
      t.match(await version(odd), { ok: false, error: { code: 'invalid_item' } })
    }
  })

  t.test('keeps to the version that all agents are held to', async (t) => {
    const org = await setUp()
    const skill = await makePublic('pinned', [{ body: '1' }, { body: '2' }])
    await assignSkill(sql, org, 'one', skill, skill.versionIds[0])
    const [open, latest] = [{ ref: 'pinned' }, { ref: 'pinned', version: 'latest' }]
    t.match(await org.resolve([open]), [{ version: 1, policy_notes: [NOTES.pinned] }])
    t.match(await org.resolve([latest]), [{ version: 2, policy_notes: [] }])
    await assignSkill(sql, org, 'two', skill)
    t.match(await org.resolve([open]), [{ version: 2, policy_notes: [NOTES.rivalPins] }])
  })

  t.test('serves what the scan blocks to its organization alone', async (t) => {
    const org = await setUp()
    const versions = [
      { body: '1', band: 'passed' },
      { body: '2', band: 'blocked' },
    ] as const
    const skill = await makeSkill(
      sql,
      org.orgId,
      { name: 'bad', stability: 'deprecated' },
      versions,
    )
    await publishSkill(sql, skill)
    t.match(await org.resolve([{ ref: 'bad' }]), [
      {
        ok: true,
        version: 2,
        safety: { band: 'blocked', withheld: false },
        policy_notes: [NOTES.deprecated, NOTES.blocked],
      },
    ])
    const other = await setUp()
    const [latest] = await other.resolve([{ skill_id: skill.id }])
    t.match(latest, { ok: true, version: 1, latest: { version: 1 } })
    t.same(latest.policy_notes, [NOTES.deprecated, NOTES.newerWithheld])
    const [withheld, next] = await other.resolve([
      { skill_id: skill.id, version: 2 },
      { ref: 'bad' },
    ])
    t.match(withheld, {
      ok: false,
      error: { code: 'withheld' },
      skill_id: skill.id,
      version: 2,
      latest: { version: 1 },
      install_name: null,
      files: [],
      unavailable: [{ path: 'SKILL.md', reason: 'withheld' }],
      safety: { band: 'blocked', withheld: true },
    })
    t.match(next, { ok: true, install_name: 'bad' }, 'what is withheld takes no name')
    await sql`update registry_skills set held_at = now() where skill_id = ${skill.id}`
    t.match(await other.resolve([{ ref: 'bad' }]), [{ error: { code: 'withheld' }, version: 1 }])
    t.match(await org.resolve([{ ref: 'bad' }]), [{ ok: true }])
  })

  t.test('refuses a body of another hash, whatever the client says', async (t) => {
    const { resolve, orgId } = await setUp()
    await makeSkill(sql, orgId, { name: 'hashed' }, [{ body: 'Body' }])
    const hash = hashBody('Body').toString('hex')
    const items = await resolve([
      { ref: 'hashed', content_hash: `sha256:${hash.toUpperCase()}` },
      { ref: 'hashed', content_hash: hash.replace(/./g, '0') },
      { ref: 'hashed', content_hash: 'no hash' },
    ])
    t.match(items, [{ ok: true }, { error: { code: 'hash_mismatch' } }, { ok: false }])
  })

  t.test('chooses folders around those taken, in the order of the items', async (t) => {
    const { resolve } = await setUp()
    const [one, two, three] = [
      await makePublic('pdf'),
      await makePublic('pdf'),
      await makePublic('xls'),
    ]
    const items = await resolve(
      [
        { skill_id: one.id },
        { skill_id: two.id },
        { skill_id: two.id, version: 1 },
        { skill_id: three.id },
      ],
      { taken: { sheets: three.id, '../up': two.id, PDF: null } },
    )
    const qualified = (skill: typeof one) => skill.registryName.replace('/', '-')
    t.match(items, [
      { install_name: qualified(one), policy_notes: [] },
      { install_name: qualified(two), policy_notes: [NOTES.misplaced] },
      { install_name: qualified(two) },
      { install_name: 'sheets', policy_notes: [NOTES.nameKept] },
    ])
    const twice = await makePublic('twice', [{ body: '1' }, { body: '2' }])
    t.match(await resolve([{ skill_id: twice.id }, { skill_id: twice.id, version: 1 }]), [
      { ok: true, version: 2 },
      { ok: false, error: { code: 'version_conflict' } },
    ])
  })

  t.test('takes three statements for a hundred items', async (t) => {
    const { orgId, resolve } = await setUp()
    const items: object[] = []
    for (let number = 0; number < 25; number++) {
      const own = await makeSkill(sql, orgId, { name: `mine-${number}` })
      const other = await makePublic(`theirs-${number}`)
      items.push({ ref: `mine-${number}` }, { skill_id: own.id }, { ref: other.registryName })
      items.push({ ref: `nothing-${number}` })
    }
    const connections = await recorder.during(async () => {
      const resolved = await resolve(items)
      t.equal(resolved.filter(({ ok }: { ok: boolean }) => ok).length, 75)
    })
    const isBegin = (text: string) => text.startsWith('begin')
    const statements = connections.find((sent) => sent.some(isBegin)) ?? []
    const begun = statements.findIndex(isBegin)
    const ended = statements.indexOf('commit', begun)
    t.equal(ended - begun - 1, 3, statements.join('\n'))
  })

  t.test('answers for each item, also for one that cannot be read', async (t) => {
    const versions = [0, 1.5, '', 'v3', '01a20080-6a47-7000-8000-4f1d2a9c3b5e']
    const sent = [...versions.map((version) => ({ ref: 'x', version })), { ref: 'x'.repeat(300) }]
    const { resolve } = await setUp()
    const codes = (await resolve(sent)).map(({ error }: { error: { code: string } }) => error.code)
    t.same(codes, [...versions.map(() => 'invalid_item'), 'not_found'])
  })

  t.test('refuses a whole request that it cannot read', async (t) => {
    const { post } = await setUp()
    const resolve = (body: object) => post('/registry/install/resolve', body)
    t.match(await resolve({ items: [{ ref: 'x' }], formats: [2, 3] }), {
      status: 422,
      body: { code: 'format_unsupported' },
    })
    const id = randomUUIDv7()
    const many = (length: number) => Array.from({ length }, () => ({ skill_id: id }))
    const taken = Object.fromEntries(many(1001).map((_, index) => [`folder-${index}`, null]))
    const bodies = [
      {},
      { items: many(101) },
      { items: [{ version: 1 }] },
      { items: [{ ref: '' }] },
      { items: [], formats: [1, 1, 1, 1, 1, 1, 1, 1, 1] },
      { items: [], taken },
      { items: [], taken: { ['x'.repeat(256)]: null } },
      { items: [], channel: 'x'.repeat(33) },
    ]
    for (const body of bodies) {
      t.match(await resolve(body), { status: 422, body: { code: 'validation_error' } })
    }
    t.match(await resolve({ items: many(100) }), { status: 200 })
    t.match(await resolve({ items: [] }), { status: 200, body: { items: [] } })
  })
})
