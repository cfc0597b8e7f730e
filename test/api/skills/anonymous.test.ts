import { randomUUIDv7 } from 'node:crypto'
import type { ServerInjectOptions } from '@hapi/hapi'
import t from 'tap'
import { fullPath } from '../../../api/endpoint.ts'
import { operations } from '../../../api/routes.ts'
import { hashBody } from '../../../jobs/rules/skills/skill.ts'
import { createDatabase } from '../../support/database.ts'
import { recordStatements } from '../../support/recorded-statements.ts'
import { makeSkill, nameOrganization, publishSkill } from '../../support/registry.ts'
import type { MadeVersion } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'

const RESOLVE = '/api/v1/registry/public/install/resolve'

/** All that names a skill, or what belongs to it. */
interface Known {
  readonly id: string
  readonly versionId: string
  readonly attachmentId: string
  readonly name: string
}

t.test('without a key', async (t) => {
  const recorder = await recordStatements(t, await createDatabase(t))
  const service = await openService(t, { url: recorder.url })
  const { sql, server } = service
  const org = await service.makeOrganization()
  await nameOrganization(sql, org.orgId, 'acme')

  /** A skill of two versions, of which the first has a file. Names have one length, as have ids. */
  async function make(name: string, versions: MadeVersion[] = [{ body: '1' }, { body: '2' }]) {
    const [first = { body: '1' }, ...others] = versions
    const skill = await makeSkill(sql, org.orgId, { name }, [
      { ...first, files: { 'a.txt': name } },
      ...others,
    ])
    const [versionId = ''] = skill.versionIds
    const [file] = await sql<{ id: string }[]>`
      select id from skill_version_files where version_id = ${versionId}`
    const known: Known = { id: skill.id, versionId, attachmentId: file?.id ?? '', name }
    return { skill, known }
  }
  async function publish({ skill }: Awaited<ReturnType<typeof make>>, count?: number) {
    await publishSkill(sql, skill, count === undefined ? {} : { count })
    await sql`
      update registry_versions set eval_yaml = 'cases: []' where skill_id = ${skill.id}`
    await sql`
      update registry_skills
      set category = 'c-' || name, tier = 1, score = 0.5, evidence_at = now() where skill_id = ${skill.id}`
  }
  const shown = await make('shown1')
  await publish(shown, 1)
  const hidden = await make('hidden')
  const erased = await make('erased')
  await publish(erased)
  await sql`delete from registry_skills where skill_id = ${erased.skill.id}`
  await sql`update skills set deleted_at = now() where id = ${erased.skill.id}`
  const banned = await make('banned', [
    { body: '1', band: 'blocked' },
    { body: '2', band: 'blocked' },
  ])
  await publish(banned)
  await sql`update registry_skills set band = 'blocked' where skill_id = ${banned.skill.id}`
  const onhold = await make('onhold')
  await publish(onhold)
  await sql`update registry_skills set held_at = now() where skill_id = ${onhold.skill.id}`
  const missing = { hidden, erased, banned, onhold }
  const nothing: Known = {
    id: randomUUIDv7(),
    versionId: randomUUIDv7(),
    attachmentId: randomUUIDv7(),
    name: 'absent',
  }
  const anonymous = operations.filter(
    ({ access, tag }) => access === 'public' && tag === 'registry',
  )

  /** Requests that name a skill in each way there is, to every operation that needs no key. */
  function requestsFor({ id, versionId, attachmentId, name }: Known) {
    const items: object[] = [
      { skill_id: id },
      { skill_id: id, version_id: versionId },
      { skill_id: id, version: 1 },
    ]
    for (const ref of [id, name, `acme/${name}`, `acme-${name}`]) items.push({ ref })
    const requests: (ServerInjectOptions & { url: string; path: string })[] = []
    for (const { method, path } of anonymous) {
      for (const one of [id, `acme-${name}`, encodeURIComponent(`acme/${name}`)]) {
        const url = fullPath(path)
          .replace('{path*}', 'SKILL.md')
          .replace('{attachment_id}', attachmentId)
          .replaceAll(/\{\w+\}/g, one)
        if (method === 'POST') requests.push({ path, method, url, payload: { items } })
        else
          for (const query of [
            'version=1',
            `q=${name}`,
            `q=acme/${name}`,
            `category=c-${name}`,
            `category=c-${name}&view=ranks&sort=recent`,
            `hash=${hashBody(name).toString('hex')}`,
          ]) {
            requests.push({ path, url: `${url}?${query}` })
          }
      }
    }
    return requests
  }

  /** Answers but for the date, the id of the request, and what names the skill. */
  async function ask(skill: Known) {
    const answers: { path: string; statusCode: number; headers: object; text: string }[] = []
    for (const { path, ...request } of requestsFor(skill)) {
      const { statusCode, headers, payload } = await server.inject(request)
      const { date: _, 'x-request-id': __, ...others } = headers
      let text = payload.replace(/"request_id":"[^"]*"/, '')
      for (const [word, value] of Object.entries(skill)) text = text.replaceAll(value, word)
      answers.push({ path, statusCode, headers: others, text })
    }
    return answers
  }

  t.test('all that is not served answers as what never was, to the byte', async (t) => {
    t.equal(anonymous.length, 8)
    const expected = await ask(nothing)
    for (const [what, { known }] of Object.entries(missing)) {
      t.same(await ask(known), expected, what)
    }
    const there = await ask(shown.known)
    for (const { path } of anonymous) {
      const isOther = there.some(
        (answer, index) => answer.path === path && answer.text !== expected[index]?.text,
      )
      t.ok(isOther, `${path} answers otherwise for what is there`)
    }
  })

  t.test('no table is read but those of the registry', async (t) => {
    const tables = await sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public'`
    const names = new Set(tables.map(({ name }) => name))
    const reading = new Set<string>()
    for (const { path, ...request } of requestsFor(shown.known)) {
      // Timers of the process may send statements as well.
      const statements = (await recorder.during(() => server.inject(request))).flat()
      const words = statements.flatMap((text) => text.match(/\b[a-z_]+\b/g) ?? [])
      const read = [...new Set(words)].filter((word) => names.has(word))
      if (read.length > 0) reading.add(path)
      t.same(
        read.filter((name) => !name.startsWith('registry_')),
        [],
        request.url,
      )
    }
    t.same(reading, new Set(anonymous.map(({ path }) => path)))
  })

  t.test('a skill whose newest version is blocked is as it was before that', async (t) => {
    const before = await ask(shown.known)
    await sql`
      insert into registry_versions (skill_id, version_number, version_id, body, body_sha256,
        description, invocation, stability, frontmatter, band)
      select skill_id, 2, ${shown.skill.versionIds[1] ?? ''}, 'x', sha256('x'), 'Another', invocation,
        stability, frontmatter, 'blocked'
      from registry_versions where skill_id = ${shown.skill.id}`
    await sql`
      update registry_skills set current_version = 2, band = 'blocked', description = 'Another', published_at = now(),
        current_version_id = ${shown.skill.versionIds[1] ?? ''}
      where skill_id = ${shown.skill.id}`
    t.same(await ask(shown.known), before)
  })

  t.test('a version that is blocked answers as one that never was', async (t) => {
    const item = async (more: object) => {
      const payload = { items: [{ skill_id: shown.skill.id, ...more }] }
      return (await server.inject({ method: 'POST', url: RESOLVE, payload })).payload
    }
    t.equal(await item({ version: 2 }), await item({ version: 3 }))
    t.equal(
      await item({ version_id: shown.skill.versionIds[1] }),
      await item({ version_id: randomUUIDv7() }),
    )
    t.match(await item({ version: 2 }), 'version_not_found')
    const one = async (path: string, version: number) => {
      const url = `/api/v1/registry/skills/${shown.skill.id}/${path}?version=${version}`
      const { statusCode, payload } = await server.inject({ url })
      return { statusCode, text: payload.replace(/"request_id":"[^"]*"/, '') }
    }
    const { attachmentId } = shown.known
    for (const path of ['attachments', `attachments/${attachmentId}`, 'eval', 'files/SKILL.md']) {
      t.equal((await one(path, 1)).statusCode, 200, path)
      t.equal((await one(path, 2)).statusCode, 404, path)
      t.same(await one(path, 2), await one(path, 3), path)
    }
  })

  t.test('who has a key is told what is withheld', async (t) => {
    const stranger = await service.makeOrganization()
    const { body } = await service.client(stranger.key).post('/registry/install/resolve', {
      items: [{ ref: 'acme/banned' }, { ref: 'acme/onhold' }, { ref: 'acme/shown1' }],
    })
    t.match(body.items, [
      { ok: false, error: { code: 'withheld' }, safety: { withheld: true } },
      { ok: false, error: { code: 'withheld' }, safety: { withheld: true } },
      { ok: true, version: 1, policy_notes: [/^newer_withheld/] },
    ])
  })
})
