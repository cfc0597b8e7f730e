import { createHash } from 'node:crypto'
import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { deleteReleasedBlobs, exchangeBlobs } from '../../../sql/skills/skill-blobs.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('the content of files', async (t) => {
  const service = await openService(t)
  const { sql } = service

  /** A skill with files, in an organization of its own. */
  async function setup(...paths: string[]) {
    const { orgId, key } = await service.makeOrganization()
    const client = service.client(key)
    await client.post('/skills', { name: 'deploy', body_markdown: 'Deploy.' })
    const attach = (path: string, content = path) =>
      client.post('/skills/deploy/attachments', { path, content })
    for (const path of paths) await attach(path)
    return {
      orgId,
      attach,
      remove: (path: string) => client.delete(`/skills/deploy/attachments/by-path/${path}`),
      read: async (path: string) =>
        (await client.get(`/skills/deploy/attachments/by-path/${path}`)).body
          .content_text as string,
      makeOld: () =>
        sql`update skill_blobs set released_at = released_at - interval '25 hours'
          where org_id = ${orgId}`,
      freeze: () => sql`update skill_versions set frozen_at = now() where org_id = ${orgId}`,
      contents: async () =>
        (
          await sql<{ content: Buffer }[]>`
            select content from skill_blobs where org_id = ${orgId} order by content`
        ).map(({ content }) => content.toString()),
    }
  }

  t.test('is stored once, and as long as a version has it', async (t) => {
    const skill = await setup('a', 'b')
    await skill.attach('c', 'a')
    t.same(await skill.contents(), ['a', 'b'])
    await skill.freeze()
    await skill.remove('a')
    await skill.remove('b')
    await skill.makeOld()
    await deleteReleasedBlobs(sql, 10)
    t.same(await skill.contents(), ['a', 'b'], 'the first version has both')
    t.equal(await skill.read('c'), 'a')
  })

  t.test('is deleted a day after its last file was removed or replaced', async (t) => {
    const skill = await setup('a', 'b', 'c')
    await skill.remove('a')
    await skill.attach('b', 'b2')
    await deleteReleasedBlobs(sql, 10)
    t.same(await skill.contents(), ['a', 'b', 'b2', 'c'], 'not on the same day')
    await skill.makeOld()
    t.equal(await deleteReleasedBlobs(sql, 1), 1, 'no more than asked for')
    t.equal(await deleteReleasedBlobs(sql, 10), 1)
    t.same(await skill.contents(), ['b2', 'c'])
    t.equal(await deleteReleasedBlobs(sql, 10), 0)
  })

  t.test('is kept while it is attached again', async (t) => {
    const skill = await setup('a')
    await skill.remove('a')
    await skill.makeOld()
    const content = Buffer.from('a')
    const sha256 = createHash('sha256').update(content).digest()
    await sql.begin(async (tx: Transaction) => {
      await exchangeBlobs(tx, skill.orgId, [{ sha256, content }], [])
      t.equal(await deleteReleasedBlobs(sql, 10), 0)
    })
    t.equal(await deleteReleasedBlobs(sql, 10), 0)
    t.same(await skill.contents(), ['a'])
  })

  t.test('is stored anew when it is attached while retention deletes it', async (t) => {
    const skill = await setup('a')
    await skill.remove('a')
    await skill.makeOld()
    const { attached } = await sql.begin(async (tx: Transaction) => {
      t.equal(await deleteReleasedBlobs(tx, 10), 1)
      const attached = skill.attach('again', 'a')
      await until(async () => {
        const waiting = await sql`
          select from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        return waiting.length > 0
      })
      return { attached }
    })
    t.equal((await attached).status, 201)
    t.equal(await skill.read('again'), 'a')
  })

  t.test('is exchanged by several at once without a deadlock', async (t) => {
    const { orgId, contents } = await setup()
    const blobs = ['a', 'b', 'c'].map((text) => {
      const content = Buffer.from(text)
      return { sha256: createHash('sha256').update(content).digest(), content }
    })
    await sql.begin((tx: Transaction) => exchangeBlobs(tx, orgId, blobs, []))
    for (let round = 0; round < 20; round++) {
      await Promise.all(
        blobs.map((added) =>
          sql.begin((tx: Transaction) => {
            const others = blobs.filter((blob) => blob !== added)
            const released = others.map(({ sha256 }) => sha256)
            return exchangeBlobs(tx, orgId, [added], released)
          }),
        ),
      )
    }
    t.same(await contents(), ['a', 'b', 'c'])
  })
})
