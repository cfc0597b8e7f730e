import { createHash } from 'node:crypto'
import t from 'tap'
import { startWatchedApi } from '../../support/watched-api.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'
import { countLockWaits } from '../../support/lock-waits.ts'

t.test('a sync', async (t) => {
  const service = await openService(t)

  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const sync = (skills: object[], more: object = {}) =>
      client.post('/skills/sync', { skills, ...more })
    const versions = async (name: string) => {
      const { body } = await client.get(`/skills/${name}/versions`)
      return body.versions.map((v: { version_number: number }) => v.version_number)
    }
    return { org, client, sync, versions }
  }

  const skill = (name: string, body_markdown = `# ${name}`, more: object = {}) => ({
    name,
    body_markdown,
    ...more,
  })
  const counts = (created: number, updated: number, unchanged: number, pulled = 0) => ({
    status: 'ok',
    created,
    updated,
    unchanged,
    pulled,
  })

  t.test('makes what is new, adds what changed, and repeated does nothing', async (t) => {
    const { client, sync, versions } = await setup()
    const first = await sync([skill('a'), skill('b')])
    t.equal(first.status, 200)
    t.match(first.body, {
      ...counts(2, 0, 0),
      failures: [],
      actions: [
        { action: 'created', name: 'a', version_number: 1, new_version_number: 1, error: null },
        { action: 'created', name: 'b', body_markdown: null, url_slug: null },
      ],
    })
    t.match((await sync([skill('a'), skill('b')])).body, {
      ...counts(0, 0, 2),
      actions: [{ action: 'no_change', version_number: 1, new_version_number: null }, {}],
    })
    const changed = await sync([skill('a', 'new\n'), skill('b'), skill('c')], { author: 'me' })
    t.match(changed.body, {
      ...counts(1, 1, 1),
      actions: [{ action: 'pushed', new_version_number: 2 }, {}, {}],
    })
    t.match((await sync([skill('a', '# a')])).body, counts(0, 1, 0), 'an older body, too')
    t.same(await versions('a'), [3, 2, 1])
    const { body } = await client.get('/skills/a/versions')
    t.match(body.versions, [
      { origin: 'sync', author: 'test', restored_from_version_id: body.versions[2].id },
      { origin: 'sync', author: 'me', restored_from_version_id: null },
      { origin: 'sync', author: 'test' },
    ])
  })

  t.test('changes what is said of a skill without a version, and leaves the rest', async (t) => {
    const { org, client, sync, versions } = await setup()
    await client.post('/skills', skill('s', 'x', { category: 'mine', stability: 'experimental' }))
    const said = { description: 'said', frontmatter: { license: 'MIT' } }
    const sent = skill('s', 'x', { ...said, eval_yaml_text: 'cases: []' })
    t.match((await sync([sent])).body, counts(0, 0, 1))
    t.match((await client.get('/skills/s')).body, {
      ...said,
      category: 'mine',
      stability: 'experimental',
    })
    const nothing = { description: '', category: null, frontmatter: null, eval_yaml_text: '' }
    const untold = { ...nothing, content_hash: '', local_updated_at: null }
    t.match((await sync([skill('s', 'x', untold)])).body, counts(0, 0, 1))
    t.match((await client.get('/skills/s')).body, { ...said, category: 'mine' })
    const [row] = await service.sql`select eval_yaml from skills where org_id = ${org.orgId}`
    t.equal(row?.['eval_yaml'], 'cases: []')
    await sync([skill('s', 'x', { description: 'late' })], { conflict_policy: 'remote_wins' })
    t.match((await client.get('/skills/s')).body, said)
    t.same(await versions('s'), [1])
  })

  t.test('that tells an evaluation again leaves the skill as old as it was', async (t) => {
    const { client, sync } = await setup()
    const sent = skill('s', 'x', { eval_yaml_text: 'cases: []' })
    await sync([sent])
    const edited = { ...sent, description: 'said', local_updated_at: new Date().toISOString() }
    await sync([sent])
    await sync([edited], { conflict_policy: 'newer_wins' })
    t.match((await client.get('/skills/s')).body, { description: 'said' })
  })

  t.test('keeps to its policy where the stored body is another one', async (t) => {
    const { sync, versions } = await setup()
    const old = { local_updated_at: '2020-01-01T00:00:00Z' }
    const late = { local_updated_at: '2999-01-01T00:00:00Z' }
    await sync([skill('s', 'stored')])
    const remote = await sync([skill('s', 'sent')], {
      conflict_policy: 'remote_wins',
      response_mode: 'diff',
    })
    t.match(remote.body, {
      ...counts(0, 0, 0, 1),
      actions: [{ action: 'pulled', body_markdown: 'stored', version_number: 1 }],
    })
    const newer = { conflict_policy: 'newer_wins' }
    t.match((await sync([skill('s', 'sent', old)], newer)).body, {
      ...counts(0, 0, 0, 1),
      actions: [{ body_markdown: null }],
    })
    t.match((await sync([skill('s', 'sent')], newer)).body, {
      ...counts(0, 0, 0),
      failures: [{ name: 's', code: 'missing_local_updated_at' }],
    })
    t.same(await versions('s'), [1])
    t.match((await sync([skill('s', 'sent', late)], newer)).body, counts(0, 1, 0))
    t.match((await sync([skill('s', 'local')])).body, counts(0, 1, 0))
    t.same(await versions('s'), [3, 2, 1])
    t.equal((await sync([], { conflict_policy: 'mine' })).status, 422)
  })

  t.test('that is to fail writes nothing when a name is there', async (t) => {
    const { client, sync, versions } = await setup()
    const fail = { conflict_policy: 'fail' }
    t.match((await sync([skill('s', 'one')], fail)).body, counts(1, 0, 0))
    await sync([skill('s', 'two')])
    const { body: stored } = await client.get('/skills/s')
    const numbers = { one: 1, two: 2, three: 2 }
    for (const [body, version] of Object.entries(numbers)) {
      const refused = await sync([skill('new'), skill('s', body)], fail)
      t.equal(refused.status, 409)
      const resource = { type: 'skill', id: stored.id, name: 's', version, version_id: String }
      t.match(refused.body, { code: 'conflict', detail: { message: String, resource } })
    }
    t.same(await versions('s'), [2, 1])
    t.equal((await client.get('/skills/new')).status, 404)
  })

  t.test('leaves out items that are wrong and tells why', async (t) => {
    const { client, sync } = await setup()
    const { status, body } = await sync([
      skill('fine', '\r\n# A\r\n\r\nB \r\n'),
      skill('fine', 'again'),
      skill('Bad Name'),
      skill('matter', '---\nname: matter\n---\n\nText'),
      skill('large', 'é'.repeat(131_073)),
      skill('largest', `\n${'é'.repeat(131_072)}\n`),
      skill('hash', 'x', { content_hash: 'sha256:00' }),
      skill('hashed', ' x ', { content_hash: `sha256:${sha256('x')}` }),
      skill('nul', 'a\0b'),
      skill('lone', 'a\udc00b'),
      skill('when', 'x', { local_updated_at: 'yesterday' }),
      { body_markdown: 'x' },
      'no object',
      null,
    ] as object[])
    t.equal(status, 200)
    t.match(body, counts(3, 0, 0))
    t.same(
      body.failures.map(({ name, code }: { name: string; code: string }) => [name, code]),
      [
        ['fine', 'duplicate_name'],
        ['Bad Name', 'invalid_name'],
        ['matter', 'frontmatter_in_body'],
        ['large', 'too_large'],
        ['hash', 'hash_mismatch'],
        ['nul', 'invalid_item'],
        ['lone', 'invalid_item'],
        ['when', 'invalid_item'],
        [null, 'invalid_item'],
        [null, 'invalid_item'],
        [null, 'invalid_item'],
      ],
    )
    t.equal(body.actions.length, 14)
    t.match(body.actions[8], { action: 'failed', name: 'nul', error: /body_markdown/ })
    const { body: version } = await client.get('/skills/fine/versions/1')
    t.equal(version.body_markdown, '# A\r\n\r\nB')
    t.equal(version.content_hash, sha256('# A\r\n\r\nB'))
  })

  t.test('takes the next item of a name where the first is wrong', async (t) => {
    const { client, sync } = await setup()
    await sync([skill('s', 'one')])
    await sync([skill('s', 'two')])
    const wrong = skill('s', 'two', { content_hash: `sha256:${sha256('other')}` })
    const { body } = await sync([wrong, skill('s', 'one'), skill('s', 'three')])
    t.match(body, {
      ...counts(0, 1, 0),
      failures: [{ code: 'hash_mismatch' }, { code: 'duplicate_name' }],
      actions: [
        { action: 'failed', version_number: null },
        { action: 'pushed', version_number: 3 },
        { action: 'failed', version_number: null },
      ],
    })
    const { versions } = (await client.get('/skills/s/versions')).body
    t.equal(versions[0].restored_from_version_id, versions[2].id)
  })

  t.test('takes 500 skills and no more', async (t) => {
    const { sync } = await setup()
    const many = (count: number) => Array.from({ length: count }, (_, i) => skill(`s-${i}`))
    t.equal((await sync(many(501))).status, 422)
    t.match((await sync(many(500))).body, counts(500, 0, 0))
    t.match((await sync(many(500))).body, counts(0, 0, 500))
  })

  t.test('beside seven others never makes two equal numbers', async (t) => {
    const { sync, versions } = await setup()
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => sync([skill('a', `a ${i}`), skill('b', `b ${i}`)])),
    )
    t.same(
      answers.map(({ status }) => status),
      Array(8).fill(200),
    )
    t.same(await versions('a'), [8, 7, 6, 5, 4, 3, 2, 1])
    t.same(await versions('b'), [8, 7, 6, 5, 4, 3, 2, 1])
  })

  t.test('beside seven equal ones makes one version', async (t) => {
    const { sync, versions } = await setup()
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => sync([skill('b', 'x'), skill('a', 'x')])),
    )
    const sum = (member: string) => answers.reduce((n, { body }) => n + body[member], 0)
    t.same([sum('created'), sum('updated'), sum('unchanged')], [2, 0, 14])
    t.same(await versions('a'), [1])
  })

  t.test('whose process is killed in the middle of it leaves nothing', async (t) => {
    const { org, client, sync } = await setup()
    await sync([skill('s-1', 'stored')])
    const api = await startWatchedApi(t, service.url)
    // The sync has made its skills when it comes to the versions, and waits there.
    const skills = Array.from({ length: 500 }, (_, i) => skill(`s-${i}`))
    const lock = await service.sql.reserve()
    await lock`begin`
    await lock`lock table skill_versions in share mode`
    const sent = fetch(`${api.address}/api/v1/skills/sync`, {
      method: 'POST',
      headers: { authorization: `Bearer ${org.key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ skills }),
    }).catch((error: unknown) => error)
    await until(() => countLockWaits(service.sql, { table: 'skill_versions' }))
    api.kill()
    t.ok((await sent) instanceof Error)
    await lock`rollback`
    lock.release()
    await until(async () => (await client.get('/skills')).body.total === 1)
    t.match((await client.get('/skills/s-1')).body, { latest_version: { version_number: 1 } })
    t.match((await sync(skills)).body, counts(499, 1, 0))
  })
})

function sha256(text: string) {
  return createHash('sha256').update(text).digest('hex')
}
