import { createHash } from 'node:crypto'
import t from 'tap'
import { openService } from '../../support/service.ts'

const MIB = 1024 * 1024

t.test('attachments', async (t) => {
  const service = await openService(t)

  /** A skill of an organization of its own. */
  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const { body: skill } = await client.post('/skills', {
      name: 'deploy',
      body_markdown: 'Deploy.',
    })
    const paths = async (version = 'latest') =>
      (await client.get(`/skills/deploy/attachments?version=${version}`)).body.attachments.map(
        ({ path }: { path: string }) => path,
      ) as string[]
    const attach = (path: string, content = path) =>
      client.post('/skills/deploy/attachments', { path, content })
    /** As publishing does. */
    const freeze = () =>
      service.sql`update skill_versions set frozen_at = now() where org_id = ${org.orgId}`
    const versions = async () =>
      (await client.get('/skills/deploy/versions')).body.versions as Record<string, unknown>[]
    return { org, client, skill, paths, attach, freeze, versions }
  }

  t.test('are put, listed, read by id and by path, replaced and removed', async (t) => {
    const { client, skill } = await setup()
    const content = 'echo ünder way\n'
    const sha256 = createHash('sha256').update(content).digest('hex')
    const sent = { path: 'scripts/sub dir/run.sh', content, mode: '0755' }
    const made = await client.post('/skills/deploy/attachments', sent)
    t.equal(made.status, 201)
    t.match(made.body, {
      path: sent.path,
      file_path: sent.path,
      mode: '0755',
      size_bytes: Buffer.byteLength(content),
      sha256,
      content_type: 'text/plain',
      version_id: skill.latest_version.id,
      version_number: 1,
    })
    const { version_id, version_number, ...file } = made.body
    t.same((await client.get(`/skills/${skill.id}/attachments`)).body, {
      attachments: [file],
      version_id,
      version_number,
    })
    const read = { ...made.body, content_text: content, content_base64: null }
    for (const at of [
      file.id,
      `by-path/${encodeURI(sent.path)}`,
      'by-path/scripts%2Fsub%20dir%2Frun.sh',
    ]) {
      t.same((await client.get(`/skills/deploy/attachments/${at}`)).body, read, at)
    }

    const again = await client.post('/skills/deploy/attachments', sent)
    t.match(again, { status: 200, body: made.body }, 'the same again')
    const replaced = await client.post('/skills/deploy/attachments', { ...sent, content: 'exit 1' })
    t.match(replaced, { status: 200, body: { id: file.id, size_bytes: 6, version_number: 1 } })

    t.match(await client.delete(`/skills/deploy/attachments/${file.id}`), {
      status: 200,
      body: { status: 'ok', version_id, version_number: 1 },
    })
    for (const at of [file.id, `by-path/${encodeURI(sent.path)}`, 'by-path/', 'by-path']) {
      t.match(await client.get(`/skills/deploy/attachments/${at}`), { status: 404 }, at)
    }
    t.equal((await client.delete(`/skills/deploy/attachments/${file.id}`)).status, 404)
  })

  t.test('are taken as older clients send them', async (t) => {
    const { client, paths, skill } = await setup()
    const post = (body: object) => client.post('/skills/deploy/attachments', body)
    const { id: skill_version_id } = skill.latest_version
    const sent = { content_text: '# T', content_type: 'text/markdown', skill_version_id }
    t.match(await post({ file_path: 'a.md', ...sent }), {
      status: 201,
      body: { file_path: 'a.md', content_type: 'text/markdown' },
    })
    await post({ file_path: 'b.md', directory: 'docs', ...sent })
    await post({ file_path: 'docs/c.md', directory: 'docs/', ...sent })
    await post({ file_path: 'd.md', directory: null, ...sent })
    await post({ file_path: 'e.md', directory: '', ...sent })
    t.same(await paths(), ['a.md', 'd.md', 'docs/b.md', 'docs/c.md', 'e.md'].sort())
    await post({ file_path: 'up.md', directory: '..', ...sent })
    t.equal((await paths()).length, 5, 'none outside of the folder')
  })

  t.test('hold any bytes, and none', async (t) => {
    const { client } = await setup()
    const bytes = Buffer.from([0, 255, 254, 1])
    const content_base64 = bytes.toString('base64')
    const { body } = await client.post('/skills/deploy/attachments', {
      path: 'a.bin',
      content_base64,
    })
    t.match(body, { content_type: 'application/octet-stream', size_bytes: 4 })
    t.match((await client.get(`/skills/deploy/attachments/${body.id}`)).body, {
      content_text: null,
      content_base64,
    })
    const empty = await client.post('/skills/deploy/attachments', { path: 'empty', content: '' })
    t.match(empty, { status: 201, body: { size_bytes: 0 } })
    t.match((await client.get(`/skills/deploy/attachments/${empty.body.id}`)).body, {
      content_text: '',
    })
  })

  t.test('are refused with what is wrong with them', async (t) => {
    const { client, attach, paths } = await setup()
    for (const path of ['../x', '/x', 'a/../x', 'a\\x', 'a\0', '.x', 'SKILL.md', 'x'.repeat(300)]) {
      const { status, body } = await attach(path, 'x')
      t.equal(status, 422, path)
      t.match(body.details.errors, [{ field: 'body.path' }])
    }
    for (const body of [
      {},
      { path: 'a' },
      { content: 'a' },
      { path: 'a', file_path: 'b', content: '' },
      { path: 'a', content: 'x', content_base64: 'eA==' },
      { path: 'a', content_base64: 'e' },
      { path: 'a', content_base64: 'eA==\n' },
      { path: 'a', content: 'a\ud800' },
      { path: 'a', content: 'x', mode: '0777' },
      { path: 'a', content: 'x', content_type: 'text/html\r\nX-Other: 1' },
    ]) {
      const { status } = await client.post('/skills/deploy/attachments', body)
      t.equal(status, 422, JSON.stringify(body))
    }
    t.same(await paths(), [])
    t.equal((await client.post('/skills/none/attachments', { path: 'a', content: '' })).status, 404)
  })

  t.test('of one path under case folding are one file, which keeps its spelling', async (t) => {
    const { attach, paths } = await setup()
    const { body: first } = await attach('Docs/Guide.md')
    for (const path of ['docs/guide.md', 'Docs', 'DOCS/GUIDE.MD/x']) {
      const { status, body } = await attach(path)
      t.equal(status, 409, path)
      t.match(body.detail.resource, { type: 'attachment', id: first.id, name: 'Docs/Guide.md' })
    }
    t.same(await paths(), ['Docs/Guide.md'])
  })

  t.test('over a limit are refused with its name', async (t) => {
    const { client, attach, paths } = await setup()
    const large = await attach('large', 'x'.repeat(MIB + 1))
    t.match(large, { status: 422, body: { code: 'too_large', detail: /1048576 bytes/ } })
    const content = 'x'.repeat(MIB)
    for (const path of ['a', 'b', 'c', 'd', 'e']) t.equal((await attach(path, content)).status, 201)
    const sixth = await attach('f', 'x')
    t.match(sixth, { status: 422, body: { code: 'too_large', detail: /5242880 bytes together/ } })
    t.equal((await attach('a', 'x')).status, 200, 'one is replaced')
    for (let n = 0; n < 4; n++) {
      const files = Array.from({ length: 50 }, (_, i) => ({ path: `m/${n}-${i}`, content: `${i}` }))
      const { status, body } = await client.post('/skills/deploy/attachments/bulk', { files })
      if (n < 3) t.equal(status, 201)
      else
        t.match({ status, body }, { status: 422, body: { code: 'too_large', detail: /200 files/ } })
    }
    t.equal((await paths()).length, 155)
  })

  t.test('come in bulk all or not at all', async (t) => {
    const { client, attach, paths, versions, freeze } = await setup()
    await attach('a.md')
    await freeze()
    const bulk = (files: object[]) => client.post('/skills/deploy/attachments/bulk', { files })
    const good = { path: 'new.md', content: 'new' }
    for (const [status, bad] of [
      [409, { path: 'A.md', content: 'x' }],
      [422, { path: '../a', content: 'x' }],
      [422, { path: 'NEW.md', content: 'x' }],
      [422, { path: 'new.md', content: 'x' }],
      [422, { path: 'new.md/x', content: 'x' }],
      [422, { path: 'large', content: 'x'.repeat(MIB + 1) }],
    ] as const) {
      t.equal((await bulk([good, bad])).status, status, bad.path)
    }
    t.match(await bulk([good, { path: '../a', content: 'x' }]), {
      body: { details: { errors: [{ field: 'body.files.1.path' }] } },
    })
    t.same(await paths(), ['a.md'])
    t.equal((await versions()).length, 1)
    t.equal((await bulk([])).status, 422)
    t.equal(
      (await bulk(Array.from({ length: 51 }, (_, i) => ({ ...good, path: `${i}` })))).status,
      422,
    )

    const made = await bulk([
      good,
      { path: 'b.md', content: 'new' },
      { path: 'a.md', content: 'a2' },
    ])
    t.match(made, { status: 201, body: { version_number: 2 } })
    t.same(
      made.body.attachments.map(({ path }: { path: string }) => path),
      ['a.md', 'b.md', 'new.md'],
    )
    t.equal((await versions()).length, 2, 'one version for all')
    t.match(await bulk([good]), { status: 200, body: { version_number: 2 } })
  })

  t.test('of a frozen version never change: another version follows', async (t) => {
    const { client, skill, attach, freeze, paths, versions } = await setup()
    const { body: run } = await attach('run.sh', 'one')
    await attach('old.md')
    await freeze()
    const before = (await client.get('/skills/deploy/attachments?version=1')).body

    t.match(await attach('run.sh', 'one'), { status: 200, body: { version_number: 1 } })
    const replaced = await attach('run.sh', 'two')
    t.match(replaced, { status: 200, body: { id: run.id, version_number: 2 } })
    t.match(await attach('new.md'), { status: 201, body: { version_number: 2 } }, 'not frozen')
    await client.delete('/skills/deploy/attachments/by-path/old.md')
    await freeze()
    const removed = await client.delete(`/skills/deploy/attachments/${run.id}`)
    t.match(removed.body, { version_number: 3 })

    t.same((await client.get('/skills/deploy/attachments?version=1')).body, before)
    t.same(await paths('1'), ['old.md', 'run.sh'])
    t.same(await paths('2'), ['new.md', 'run.sh'])
    t.same(await paths(), ['new.md'])
    const texts = await Promise.all(
      [1, 2].map((n) => client.get(`/skills/deploy/attachments/${run.id}?version=${n}`)),
    )
    t.same(
      texts.map(({ body }) => body.content_text),
      ['one', 'two'],
    )
    t.match(await versions(), [
      { version_number: 3, origin: 'files', author: 'test' },
      { version_number: 2, origin: 'files', parent_version_id: skill.latest_version.id },
      { version_number: 1, origin: 'create' },
    ])
    const hashes = new Set((await versions()).map((version) => version['content_hash']))
    t.equal(hashes.size, 1, 'the body is the same')
  })

  t.test('make the scan of their version count no more, and ask for another', async (t) => {
    const { org, client, skill, attach } = await setup()
    const { id } = skill.latest_version
    const band = async () => (await client.get('/skills/deploy/versions/1')).body.safety_band
    await service.sql`
      insert into skill_scans (org_id, version_id, revision, scanner_version, band, reason_codes,
        findings, finding_count)
      select org_id, id, revision, 1, 'passed', '{}', '[]', 0 from skill_versions
      where org_id = ${org.orgId} and id = ${id}`
    t.equal(await band(), 'passed')
    await service.boss.deleteQueuedJobs('skills.scan')
    await attach('a')
    t.equal(await band(), 'unreviewed')
    t.match(await service.boss.findJobs('skills.scan', { key: id }), [{ state: 'created' }])
  })

  t.test('for a version of another body are refused', async (t) => {
    const { client, skill, freeze } = await setup()
    const { id: skill_version_id } = skill.latest_version
    const post = (path: string, id: string) =>
      client.post('/skills/deploy/attachments', { path, content: '', skill_version_id: id })
    await freeze()
    t.equal((await post('a', skill_version_id)).status, 201)
    t.equal(
      (await post('b', skill_version_id)).status,
      201,
      'the newest differs by its files alone',
    )
    t.equal((await post('c', skill.id)).status, 404)
    await client.put('/skills/deploy', { body_markdown: 'Deploy twice.' })
    t.match(await post('d', skill_version_id), {
      status: 409,
      body: { detail: { resource: { type: 'skill', name: 'deploy', version: 3 } } },
    })
    const { body: newest } = await client.get('/skills/deploy')
    const bulk = (...ids: (string | undefined)[]) => {
      const files = ids.map((id, i) => ({ path: `${i}.md`, content: '', skill_version_id: id }))
      return client.post('/skills/deploy/attachments/bulk', { files })
    }
    const { id: current } = newest.latest_version
    t.equal((await bulk(undefined, current, skill_version_id)).status, 409, 'said in one file')
    t.equal((await bulk(current, skill.id)).status, 404)
    t.equal((await bulk(undefined, current, current)).status, 201)
  })

  t.test('that many send at once are all there, in one version', async (t) => {
    const { attach, freeze, paths, versions } = await setup()
    await freeze()
    const names = Array.from({ length: 12 }, (_, i) => `f${i}`).sort()
    const answers = await Promise.all(names.map((name) => attach(name, 'the same content')))
    t.same(new Set(answers.map(({ status }) => status)), new Set([201]))
    t.same(await paths(), names)
    t.equal((await versions()).length, 2)
  })

  t.test("are not another organization's", async (t) => {
    const { attach, skill } = await setup()
    const { body: file } = await attach('a')
    const { client } = await setup()
    const other = await client.get(`/skills/${skill.id}/attachments/${file.id}`)
    const none = await client.get(`/skills/${file.id}/attachments/${file.id}`)
    t.equal(other.status, 404)
    t.equal(other.body.detail, none.body.detail)
    t.equal((await client.get(`/skills/deploy/attachments/${file.id}`)).status, 404)
    t.equal((await client.delete(`/skills/${skill.id}/attachments/${file.id}`)).status, 404)
  })
})
