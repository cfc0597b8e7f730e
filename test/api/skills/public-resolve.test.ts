import t from 'tap'
import { makeSkill, nameOrganization, publishSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'

const RESOLVE = '/api/v1/registry/public/install/resolve'

t.test('without a key', async (t) => {
  const service = await openService(t)
  const { sql, server } = service
  const org = await service.makeOrganization()
  await nameOrganization(sql, org.orgId, 'acme')
  const versions = [{ body: '1', files: { 'a.txt': 'A' } }, { body: '2' }]
  const shown = await makeSkill(sql, org.orgId, { name: 'shown' }, versions)
  await publishSkill(sql, shown, { count: 1 })
  await makeSkill(sql, org.orgId, { name: 'hidden' })

  t.test('a version that is not public answers as one that never was', async (t) => {
    const item = async (version: number) => {
      const payload = { items: [{ skill_id: shown.id, version }] }
      return (await server.inject({ method: 'POST', url: RESOLVE, payload })).payload
    }
    t.equal(await item(2), await item(3))
    t.match(await item(2), 'version_not_found')
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
  const { server } = await openService(t, { anonymousRate: { perMinute: 1, burst: 2 } })
  const statuses: number[] = []
  for (let request = 0; request < 3; request++) {
    const payload = { items: [] }
    statuses.push((await server.inject({ method: 'POST', url: RESOLVE, payload })).statusCode)
  }
  t.same(statuses, [200, 200, 429])
})
