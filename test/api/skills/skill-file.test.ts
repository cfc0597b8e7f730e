import t from 'tap'
import { parse } from 'yaml'
import { hashBody } from '../../../jobs/rules/skills/skill.ts'
import { makeSkill, nameOrganization, publishSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'

t.test('a file of a skill', async (t) => {
  const service = await openService(t)
  const { sql, server } = service
  const owner = await service.makeOrganization()
  await nameOrganization(sql, owner.orgId, 'acme')
  const stranger = await service.makeOrganization()
  const skill = await makeSkill(
    sql,
    owner.orgId,
    { name: 'forms', description: 'Fills in', frontmatter: { notes: 'mine' } },
    [
      { body: 'One', files: { 'docs/über uns.md': 'Ü', 'a.bin': '\u{10ffff}' } },
      { body: 'Two', band: 'blocked', files: { 'b.txt': 'B' } },
    ],
  )
  await sql`update skill_blobs set content = '\\xff00' where org_id = ${owner.orgId}
    and sha256 = ${hashBody('\u{10ffff}')}`
  await publishSkill(sql, skill)
  const hidden = await makeSkill(sql, owner.orgId, { name: 'hidden' })

  async function read(
    path: string,
    { key, headers = {} }: { key?: string; headers?: object } = {},
  ) {
    return server.inject({
      url: `/api/v1/registry/skills/${path}`,
      headers: { ...(key !== undefined && { authorization: `Bearer ${key}` }), ...headers },
    })
  }
  const frontmatterOf = (text: string) => parse(text.split('---')[1] ?? '') as object

  t.test('is sent as bytes that no browser runs', async (t) => {
    const { statusCode, headers, payload } = await read(
      `${skill.id}/files/docs/${encodeURIComponent('über uns.md')}`,
    )
    t.equal(statusCode, 200)
    t.equal(payload, 'Ü')
    t.match(headers, {
      etag: `"${hashBody('Ü').toString('hex')}"`,
      'content-type': 'text/plain; charset=utf-8',
      'content-disposition': 'attachment',
      'x-content-type-options': 'nosniff',
    })
    t.match(await read(`${skill.id}/files/a.bin`), {
      rawPayload: Buffer.from([0xff, 0]),
      headers: { 'content-type': 'application/octet-stream' },
    })
  })

  t.test('is not sent again to who has it', async (t) => {
    const first = await read(`${skill.id}/files/SKILL.md`)
    const again = await read(`${skill.id}/files/SKILL.md`, {
      headers: { 'if-none-match': first.headers.etag },
    })
    t.match(again, { statusCode: 304, payload: '' })
  })

  t.test('is rendered for the folder and the variant asked for', async (t) => {
    const { payload } = await read(`${skill.id}/files/SKILL.md?install_name=My%20forms`)
    t.match(frontmatterOf(payload), { name: 'My forms', metadata: { source: 'acme/forms' } })
    t.notMatch(payload, 'mine')
    const own = await read(`${skill.id}/files/SKILL.md`, { key: owner.key })
    t.same(frontmatterOf(own.payload), { name: 'forms', description: 'Fills in', notes: 'mine' })
    const foreign = await read(`${skill.id}/files/SKILL.md?variant=foreign`, { key: owner.key })
    t.match(frontmatterOf(foreign.payload), { metadata: { author: 'acme', version: '2' } })
    for (const name of ['..', 'a/b', '.x', 'x'.repeat(256)]) {
      const path = `${skill.id}/files/SKILL.md?install_name=${encodeURIComponent(name)}`
      t.match(await read(path), { statusCode: 422 }, name)
    }
  })

  t.test('has the hash that resolving says', async (t) => {
    const { body } = await service
      .client(stranger.key)
      .post('/registry/install/resolve', { items: [{ ref: 'acme/forms' }], taken: { forms: null } })
    const [item] = body.items
    t.equal(item.files.length, 3)
    for (const { path, sha256 } of item.files) {
      if (path === 'a.bin') continue
      const query = `version=${item.version}&hash=${sha256}&install_name=${item.install_name}`
      const { statusCode, rawPayload } = await read(
        `${skill.id}/files/${encodeURIComponent(path)}?${query}`,
      )
      t.equal(statusCode, 200, path)
      t.equal(hashBody(rawPayload.toString()).toString('hex'), sha256)
    }
  })

  t.test('is not there for who may not have it, or asks for another', async (t) => {
    const paths = [
      `${skill.id}/files/none.txt`,
      `${skill.id}/files/b.txt`,
      `${skill.id}/files/SKILL.md?version=2`,
      `${skill.id}/files/SKILL.md?version=3`,
      `${skill.id}/files/SKILL.md?variant=own`,
      `${skill.id}/files/SKILL.md?hash=${'0'.repeat(64)}`,
      `${hidden.id}/files/SKILL.md`,
      'forms/files/SKILL.md',
    ]
    for (const path of paths) {
      for (const more of [{}, { key: stranger.key }]) {
        const { statusCode, payload } = await read(path, more)
        t.match({ statusCode, payload }, { statusCode: 404, payload: '"File not found"' }, path)
      }
    }
    t.match(await read(`${skill.id}/files/SKILL.md?hash=none`), { statusCode: 422 })
    t.match(await read(`${hidden.id}/files/SKILL.md`, { key: owner.key }), { statusCode: 200 })
    t.match(await read(`${skill.id}/files/b.txt`, { key: owner.key }), { payload: 'B' })
  })
})
