import t from 'tap'
import { scanSkillHandler } from '../../../workers/skills/scan-skill.ts'
import { openService } from '../../support/service.ts'
import { settled } from '../../support/settled.ts'
import { until } from '../../support/until.ts'

t.test('a copy of a skill', async (t) => {
  const service = await openService(t)
  const { sql } = service
  await service.startWorkers([scanSkillHandler])

  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const make = async (name: string, body_markdown: string, more: object = {}) =>
      (await client.post('/skills', { ...DETAILS, name, body_markdown, ...more })).body
    return { ...org, client, make }
  }
  type Party = Awaited<ReturnType<typeof setup>>

  /** Publishes the newest version of a skill, with a file, and waits until no scan of it is left. */
  async function publish({ orgId, client }: Party, name: string, { file = 'file' } = {}) {
    await client.post(`/skills/${name}/attachments`, { path: 'notes.txt', content: file })
    const { body } = await client.post(`/skills/${name}/publish`)
    await settled(sql, orgId)
    return {
      id: body.skill_id as string,
      slug: body.url_slug as string,
      publicName: body.registry_name as string,
      versionId: body.version_id as string,
    }
  }

  async function filesOf({ orgId, client }: Party, name: string) {
    const { body } = await client.get(`/skills/${name}`)
    const rows = await sql<{ path: string; content: Buffer }[]>`
      select path, content from skill_version_files f join skill_blobs b using (org_id, sha256)
      where org_id = ${orgId} and version_id = ${body.latest_version.id} order by path`
    return rows.map(({ path, content }) => [path, content.toString()])
  }

  const countOf = async ({ id }: { id: string }) => {
    const [row] = await sql<{ install_count: number }[]>`
      select install_count from registry_skills where skill_id = ${id}`
    return row?.install_count
  }

  t.test('of an own one begins anew with its text, files and details', async (t) => {
    const me = await setup()
    const made = await me.make('mine', 'one', {
      category: 'x',
      trigger_phrases: ['go'],
      eval_yaml_text: 'cases: []',
    })
    await me.client.put('/skills/mine', { body_markdown: 'two' })
    const { status, body } = await me.client.post('/skills/mine/fork')
    t.equal(status, 201)
    const { body: source } = await me.client.get('/skills/mine')
    t.match(body, {
      status: 'ok',
      skill: { id: String, name: 'mine-2' },
      forked_from_skill_id: made.id,
      forked_at_version_id: source.latest_version.id,
    })
    t.match((await me.client.get('/skills/mine-2')).body, {
      category: 'x',
      trigger_phrases: ['go'],
      forked_from_skill_id: made.id,
      has_upstream_update: false,
      latest_version: { version_number: 1, content_hash: source.latest_version.content_hash },
    })
    const [copy] = await sql`select eval_yaml from skills where id = ${body.skill.id}`
    t.equal(copy?.['eval_yaml'], 'cases: []')
    t.match((await me.client.get('/skills/mine-2/versions/1')).body, { origin: 'fork' })
    t.match((await me.client.post(`/skills/${made.id}/fork`)).body, { skill: { name: 'mine-3' } })
    const named = await me.client.post('/skills/mine/fork', { new_name: 'other' })
    t.match(named.body, { skill: { name: 'other' } })
    const queried = await me.client.post('/skills/mine/fork?new_name=another')
    t.match(queried.body, { skill: { name: 'another' } })
    t.match(await me.client.post('/skills/mine/fork', { new_name: 'other' }), {
      status: 409,
      body: { detail: { resource: { name: 'other', id: named.body.skill.id } } },
    })
    t.equal((await me.client.post('/skills/mine/fork', { new_name: 'No' })).status, 422)
    t.equal((await me.client.post('/skills/nobody/fork')).status, 404)
    t.equal((await me.client.post('/skills/mine/merge-upstream')).body.code, 'not_a_fork')
    t.equal(
      (await me.client.post('/skills/other/merge-upstream')).body.code,
      'upstream_unavailable',
    )
  })

  t.test('of a public one is installed once and counted', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await owner.make('shared', 'public text', { trigger_phrases: ['secret'] })
    await me.make('shared', 'my own')
    t.equal((await me.client.post(`/skills/slug/fork`)).status, 404)
    const { id: ownId } = (await owner.client.get('/skills/shared')).body
    t.equal((await me.client.post(`/skills/${ownId}/fork`)).status, 404, 'it is private yet')
    const source = await publish(owner, 'shared', { file: 'a file' })
    const installed = await me.client.post(`/skills/${source.slug}/fork`)
    t.match(installed, {
      status: 201,
      body: {
        skill: { name: 'shared-2' },
        forked_from_skill_id: source.id,
        forked_at_version_id: source.versionId,
      },
    })
    t.match((await me.client.get('/skills/shared-2')).body, {
      frontmatter: { license: 'MIT' },
      trigger_phrases: [],
      visibility: 'private',
      has_upstream_update: false,
    })
    t.same(await filesOf(me, 'shared-2'), [['notes.txt', 'a file']])
    t.equal(await countOf(source), 1)

    const references = [source.id, source.slug, encodeURIComponent(source.publicName)]
    for (const reference of references) {
      const again = await me.client.post(`/skills/${reference}/fork`, { new_name: 'elsewhere' })
      t.equal(again.status, 409, reference)
      t.equal(again.headers['x-installed-as'], 'shared-2')
      t.match(again.body.detail.resource, { type: 'skill', name: 'shared-2', version: 1 })
    }
    await me.client.delete('/skills/shared-2')
    t.equal(await countOf(source), 0)
    t.match((await me.client.post(`/skills/${source.slug}/fork`)).body, {
      skill: { name: 'shared-2' },
    })
    t.equal(await countOf(source), 1)
    t.match((await owner.client.post(`/skills/${source.slug}/fork`)).body, {
      skill: { name: 'shared-2' },
    })
    t.equal(await countOf(source), 1, 'a copy beside the original is no installation')
  })

  t.test('asked for eight times at once is installed once', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await owner.make('wanted', 'text')
    const { slug } = await publish(owner, 'wanted')
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        me.client.post(`/skills/${slug}/fork`, i % 2 ? { new_name: `wanted-as-${i}` } : {}),
      ),
    )
    t.equal(answers.filter(({ status }) => status === 201).length, 1)
    t.equal(answers.filter(({ status }) => status === 409).length, 7)
    t.equal((await me.client.get('/skills')).body.total, 1)
  })

  t.test('learns of a newer public version, and takes it or not', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await owner.make('tool', 'first')
    const { slug } = await publish(owner, 'tool')
    await me.client.post(`/skills/${slug}/fork`)
    const merge = (body: object = {}, query = '') =>
      me.client.post(`/skills/tool/merge-upstream${query}`, body)
    const hasUpdate = async () => (await me.client.get('/skills/tool')).body.has_upstream_update
    t.match((await merge()).body, {
      status: 'up_to_date',
      version_number: 1,
      overwrote_local_changes: false,
      previous_version_id: null,
    })
    t.equal(await hasUpdate(), false)

    await owner.client.put('/skills/tool', { body_markdown: 'second', change_summary: 'why' })
    const second = await publish(owner, 'tool', { file: 'second file' })
    t.equal(await hasUpdate(), true)
    for (const answer of [await merge({ mode: 'preview' }), await merge({}, '?mode=preview')]) {
      t.same(answer.body, {
        upstream_body: 'second',
        upstream_version_number: 2,
        upstream_change_summary: 'why',
        current_body: 'first',
      })
    }
    t.match((await merge({ strategy: 'ours' })).body, { status: 'ok', version_number: 1 })
    t.equal(await hasUpdate(), false)
    t.match((await merge({ strategy: 'ours' })).body, { status: 'up_to_date' })
    const { body: before } = await me.client.get('/skills/tool')
    t.match((await merge()).body, {
      status: 'ok',
      version_number: 2,
      overwrote_local_changes: false,
      previous_version_id: before.latest_version.id,
    })
    t.match((await me.client.get('/skills/tool')).body, { forked_at_version_id: second.versionId })
    t.match((await me.client.get('/skills/tool/versions/2')).body, {
      body_markdown: 'second',
      origin: 'upstream',
      change_summary: 'why',
    })
    t.same(await filesOf(me, 'tool'), [['notes.txt', 'second file']])

    await me.client.put('/skills/tool', { body_markdown: 'mine' })
    await owner.client.put('/skills/tool', { body_markdown: 'third' })
    await publish(owner, 'tool')
    t.match((await merge({}, '?mode=replace')).body, {
      version_number: 4,
      overwrote_local_changes: true,
    })
    t.equal((await merge({ strategy: 'ours', mode: 'preview' })).status, 400)
  })

  t.test('whose files alone were changed is told that they were overwritten', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await owner.make('files', 'one')
    const { slug } = await publish(owner, 'files')
    await me.client.post(`/skills/${slug}/fork`)
    await sql`update skill_version_files set mode = '0755' where org_id = ${me.orgId}`
    await owner.client.put('/skills/files', { body_markdown: 'two' })
    await publish(owner, 'files')
    const { body } = await me.client.post('/skills/files/merge-upstream')
    t.match(body, { version_number: 2, overwrote_local_changes: true })
  })

  t.test('that has the public text already only notes it, unless files differ', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await owner.make('same', 'one')
    const { slug } = await publish(owner, 'same')
    await me.client.post(`/skills/${slug}/fork`)
    for (const party of [owner, me])
      await party.client.put('/skills/same', { body_markdown: 'two' })
    const { versionId } = await publish(owner, 'same')
    const merge = () => me.client.post('/skills/same/merge-upstream')
    t.match((await merge()).body, { status: 'ok', version_number: 2, previous_version_id: null })
    t.match((await me.client.get('/skills/same')).body, { forked_at_version_id: versionId })
    await owner.client.put('/skills/same', { body_markdown: 'three' })
    await me.client.put('/skills/same', { body_markdown: 'three' })
    await publish(owner, 'same', { file: 'other' })
    t.match((await merge()).body, { status: 'ok', version_number: 4 })
    t.same(await filesOf(me, 'same'), [['notes.txt', 'other']])
  })

  t.test('has no upstream while that is not public, blocked or withdrawn', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await owner.make('gone', 'one')
    const source = await publish(owner, 'gone')
    await me.client.post(`/skills/${source.slug}/fork`)
    await owner.client.put('/skills/gone', { body_markdown: 'two' })
    await publish(owner, 'gone')
    const state = async () => {
      const { body } = await me.client.get('/skills/gone')
      const { status, body: merged } = await me.client.post('/skills/gone/merge-upstream', {
        mode: 'preview',
      })
      return [body.has_upstream_update, status, merged.code]
    }
    t.same(await state(), [true, 200, undefined])
    await sql`update registry_skills set held_at = now() where skill_id = ${source.id}`
    t.same(await state(), [false, 409, 'upstream_unavailable'])
    await sql`update registry_skills set held_at = null where skill_id = ${source.id}`
    t.same(await state(), [true, 200, undefined])
    await owner.client.post('/skills/gone/unpublish')
    t.same(await state(), [false, 409, 'upstream_unavailable'])
    t.equal((await me.client.post(`/skills/${source.slug}/fork`)).status, 404)
    t.match((await me.client.get('/skills/gone/body')).body, { body: 'one' }, 'the copy stays')
  })

  t.test('has no upstream that ceases to be public meanwhile', async (t) => {
    const [owner, me, other] = [await setup(), await setup(), await setup()]
    await owner.make('leaving', 'one')
    const { id, slug } = await publish(owner, 'leaving')
    await me.client.post(`/skills/${slug}/fork`)
    await owner.client.put('/skills/leaving', { body_markdown: 'two' })
    await publish(owner, 'leaving')
    // The scan of the copy would wait as well.
    await settled(sql, me.orgId)
    const waiting = await sql.begin(async (tx) => {
      await tx`delete from registry_skills where skill_id = ${id}`
      const asked = Promise.all([
        other.client.post(`/skills/${slug}/fork`),
        me.client.post('/skills/leaving/merge-upstream'),
      ])
      await until(async () => {
        const [row] = await sql<{ both: boolean }[]>`
          select count(*) = 2 as both from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`
        return row?.both
      })
      return { asked }
    })
    t.match(await waiting.asked, [
      { status: 404 },
      { status: 409, body: { code: 'upstream_unavailable' } },
    ])
    t.equal((await other.client.get('/skills')).body.total, 0)
    t.same(await filesOf(me, 'leaving'), [['notes.txt', 'file']])
  })

  t.test('is never offered a version before the one that it has', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await owner.make('ahead', 'one')
    const { slug } = await publish(owner, 'ahead')
    await owner.client.put('/skills/ahead', { body_markdown: 'two' })
    await owner.client.post('/skills/ahead/fork')
    const state = async ({ client }: Party, name: string) => [
      (await client.get(`/skills/${name}`)).body.has_upstream_update,
      (await client.post(`/skills/${name}/merge-upstream`)).body.status,
    ]
    t.same(await state(owner, 'ahead-2'), [false, 'up_to_date'], 'two is not public')
    const { versionId } = await publish(owner, 'ahead')
    t.same(await state(owner, 'ahead-2'), [false, 'up_to_date'])
    await me.client.post(`/skills/${slug}/fork`)
    await owner.client.put('/skills/ahead', { body_markdown: 'three' })
    const third = await publish(owner, 'ahead')
    const block = (id: string) => sql`
      with blocked as (update registry_versions set band = 'blocked' where version_id = ${id})
      update registry_skills set band = 'blocked' where current_version_id = ${id}`
    await block(third.versionId)
    t.same(await state(me, 'ahead'), [false, 'up_to_date'], 'the newest one is blocked')
    await block(versionId)
    t.same(await state(me, 'ahead'), [false, 'up_to_date'], 'and the one that it has')
    await owner.client.put('/skills/ahead', { body_markdown: 'four' })
    await publish(owner, 'ahead')
    t.same(await state(me, 'ahead'), [true, 'ok'])
    await owner.client.post('/skills/ahead/unpublish')
    await owner.client.put('/skills/ahead', { body_markdown: 'five' })
    await publish(owner, 'ahead')
    await me.client.delete('/skills/ahead/attachments/by-path/notes.txt')
    t.equal((await me.client.get('/skills/ahead')).body.has_upstream_update, true)
    t.match((await me.client.post('/skills/ahead/merge-upstream')).body, {
      version_number: 3,
      // What it took is public no more, so that nothing says that it was not changed.
      overwrote_local_changes: true,
    })
  })

  t.test('ends with what it is a copy of no more than by its own deletion', async (t) => {
    const [owner, me] = [await setup(), await setup()]
    await owner.make('kept', 'text')
    const { slug, id } = await publish(owner, 'kept')
    await me.client.post(`/skills/${slug}/fork`)
    t.equal((await owner.client.delete('/skills/kept')).status, 204)
    t.equal((await owner.client.delete('/skills/kept')).status, 404)
    t.equal((await owner.client.get(`/skills/${id}`)).status, 404)
    t.equal((await owner.client.get('/skills/kept/versions/1')).status, 404)
    const [row] = await sql`select from registry_skills where skill_id = ${id}`
    t.equal(row, undefined, 'it is public no more')
    t.equal((await me.client.get('/skills/kept')).status, 200)
    t.ok((await owner.make('kept', 'anew')).id, 'its name is free')
  })
})

const DETAILS = { description: 'What others can install', frontmatter: { license: 'MIT' } }
