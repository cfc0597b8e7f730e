import { randomUUIDv7 } from 'node:crypto'
import type { ServerInjectOptions } from '@hapi/hapi'
import t from 'tap'
import { fullPath } from '../../../api/endpoint.ts'
import { operations } from '../../../api/routes.ts'
import { createDatabase } from '../../support/database.ts'
import { recordStatements } from '../../support/recorded-statements.ts'
import { makeSkill, nameOrganization, publishSkill } from '../../support/registry.ts'
import type { MadeSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'

const RESOLVE = '/api/v1/registry/public/install/resolve'

/** What somebody without a key knows of a skill. */
interface Known {
  readonly id: string
  readonly versionId: string
  readonly name: string
}

const known = ({ id, versionIds: [versionId = ''] }: MadeSkill, name: string): Known => ({
  id,
  versionId,
  name,
})

t.test('without a key', async (t) => {
  const recorder = await recordStatements(t, await createDatabase(t))
  const service = await openService(t, { url: recorder.url })
  const { sql, server } = service
  const org = await service.makeOrganization()
  await nameOrganization(sql, org.orgId, 'acme')

  async function make(name: string, versions?: Parameters<typeof makeSkill>[3]) {
    return makeSkill(sql, org.orgId, { name }, versions)
  }
  const shown = await make('shown', [{ body: '1', files: { 'a.txt': 'A' } }, { body: '2' }])
  await publishSkill(sql, shown, { count: 1 })
  const deleted = await make('erased')
  await publishSkill(sql, deleted)
  await sql`delete from registry_skills where skill_id = ${deleted.id}`
  await sql`update skills set deleted_at = now() where id = ${deleted.id}`
  const hidden = await make('hidden')
  const blocked = await make('banned', [{ body: '1', band: 'blocked' }])
  // All names are of one length, as are ids.
  const nothing: Known = { id: randomUUIDv7(), versionId: randomUUIDv7(), name: 'absent' }
  const missing: Record<string, Known> = {
    private: known(hidden, 'hidden'),
    deleted: known(deleted, 'erased'),
    blocked: known(blocked, 'banned'),
  }
  const anonymous = operations.filter(
    ({ access, tag }) => access === 'public' && tag === 'registry',
  )

  /** Requests that name a skill in each way there is, to every operation that needs no key. */
  function requestsFor({ id, versionId, name }: Known) {
    const items: object[] = [
      { skill_id: id },
      { skill_id: id, version_id: versionId },
      { skill_id: id, version: 1 },
    ]
    for (const ref of [id, name, `acme/${name}`, `acme-${name}`]) items.push({ ref })
    const requests: (ServerInjectOptions & { url: string })[] = []
    for (const { method, path } of anonymous) {
      for (const one of [id, `acme-${name}`]) {
        const url = fullPath(path)
          .replace('{path*}', 'SKILL.md')
          .replaceAll(/\{\w+\}/g, one)
        if (method === 'POST') requests.push({ method, url, payload: { items } })
        else
          for (const query of ['', '?version=1', `?q=${name}`]) requests.push({ url: url + query })
      }
    }
    return requests
  }

  async function ask(skill: Known) {
    const answers: object[] = []
    for (const request of requestsFor(skill)) {
      const { statusCode, headers, payload } = await server.inject(request)
      const { date: _, 'x-request-id': __, ...others } = headers
      let text = payload.replace(/"request_id":"[^"]*"/, '')
      for (const [word, value] of Object.entries(skill)) {
        text = text.replaceAll(value, word)
      }
      answers.push({ statusCode, headers: others, text })
    }
    return answers
  }

  t.test('all that is not public answers as what never was, to the byte', async (t) => {
    t.ok(anonymous.length >= 2)
    const expected = await ask(nothing)
    for (const [what, skill] of Object.entries(missing)) t.same(await ask(skill), expected, what)
    t.notSame(await ask(known(shown, 'shown')), expected, 'unlike what is')
  })

  t.test('a version that is not public answers as one that never was', async (t) => {
    const item = async (more: object) => {
      const { payload } = await server.inject({
        method: 'POST',
        url: RESOLVE,
        payload: { items: [{ skill_id: shown.id, ...more }] },
      })
      return payload
    }
    t.equal(await item({ version: 2 }), await item({ version: 3 }))
    t.equal(
      await item({ version_id: shown.versionIds[1] }),
      await item({ version_id: randomUUIDv7() }),
    )
    t.match(await item({ version: 2 }), 'version_not_found')
  })

  t.test('no table is read but those of the registry', async (t) => {
    const tables = await sql<{ name: string }[]>`
      select table_name as name from information_schema.tables where table_schema = 'public'`
    const names = new Set(tables.map(({ name }) => name))
    for (const request of requestsFor(known(shown, 'shown'))) {
      const statements = await recorder.during(() => server.inject(request))
      const words = statements.flatMap((text) => text.match(/\b[a-z_]+\b/g) ?? [])
      const read = [...new Set(words)].filter((word) => names.has(word))
      t.ok(read.length > 0 || statements.length === 0, request.url)
      t.same(
        read.filter((name) => !name.startsWith('registry_')),
        [],
        request.url,
      )
    }
  })

  t.test('a public skill is resolved in the foreign variant, and nobody owns it', async (t) => {
    const { statusCode, payload } = await server.inject({
      method: 'POST',
      url: RESOLVE,
      payload: { items: [{ ref: 'shown' }], taken: { shown: null } },
    })
    t.equal(statusCode, 200)
    t.match(JSON.parse(payload), {
      items: [
        {
          ok: true,
          org_id: null,
          version: 1,
          latest: { version: 1 },
          install_name: 'acme-shown',
          relationship: 'public',
          render: { variant: 'foreign' },
          files: [{ path: 'SKILL.md' }, { path: 'a.txt' }],
        },
      ],
    })
  })

  t.test('a key changes nothing', async (t) => {
    const { post } = service.client(org.key)
    const { body } = await post('/registry/public/install/resolve', {
      items: [{ ref: 'hidden' }, { ref: 'shown' }],
    })
    t.match(body.items, [{ error: { code: 'not_found' } }, { relationship: 'public', version: 1 }])
  })

  t.test('at most twenty items are resolved', async (t) => {
    const many = (length: number) => Array.from({ length }, () => ({ ref: 'shown' }))
    for (const [length, status] of [
      [20, 200],
      [21, 422],
    ] as const) {
      const payload = { items: many(length) }
      const { statusCode } = await server.inject({ method: 'POST', url: RESOLVE, payload })
      t.equal(statusCode, status)
    }
  })
})

t.test('an address has a rate limit', async (t) => {
  const { server } = await openService(t, { anonymousRate: { perMinute: 60, burst: 2 } })
  const statuses: number[] = []
  for (let request = 0; request < 3; request++) {
    const payload = { items: [] }
    statuses.push((await server.inject({ method: 'POST', url: RESOLVE, payload })).statusCode)
  }
  t.same(statuses, [200, 200, 429])
})
