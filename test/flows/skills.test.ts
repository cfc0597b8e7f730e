import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { parse } from 'yaml'
import { scanSkillHandler } from '../../workers/skills/scan-skill.ts'
import { nameOrganization } from '../support/registry.ts'
import { openService } from '../support/service.ts'

/** Written by hand in the Agent Skills format. */
const WRITTEN = 'test/samples/agent-skills/order-lookup'

t.test(
  'a folder of a skill is published by one organization and installed by another',
  async (t) => {
    const service = await openService(t)
    await service.startWorkers([scanSkillHandler])
    const [owner, user] = [await service.makeOrganization(), await service.makeOrganization()]
    await nameOrganization(service.sql, owner.orgId, 'acme')
    const [author, client] = [service.client(owner.key), service.client(user.key)]
    const written = await readFolder(WRITTEN)
    const { name: _, description, ...frontmatter } = frontmatterOf(written)
    const name = basename(WRITTEN)
    requireFormat(t, WRITTEN, written)

    const synced = await author.post('/skills/sync', {
      skills: [{ name, description, frontmatter, body_markdown: bodyOf(written) }],
    })
    t.match(synced.body, { created: 1, failures: [] })
    const files = [...written]
      .filter(([path]) => path !== 'SKILL.md')
      .map(([path, { content, mode }]) => ({ path, content: content.toString(), mode }))
    t.equal((await author.post(`/skills/${name}/attachments/bulk`, { files })).status, 201)
    const published = await author.post(`/skills/${name}/publish`)
    t.match(published, { status: 201, body: { safety_band: 'passed', version: 1 } })

    /** What resolving says of a version, and the folder that follows from it. */
    async function install(version: number | 'latest') {
      const { body } = await client.post('/registry/install/resolve', {
        items: [{ ref: 'acme/order-lookup', version }],
      })
      const [item] = body.items
      t.match(item, { ok: true, relationship: 'public', unavailable: [] })
      const folder = join(await mkdtemp(join(tmpdir(), 'adl-skill-')), item.install_name)
      t.teardown(() => rm(dirname(folder), { recursive: true }))
      for (const { path, sha256, mode } of item.files) {
        const { rawPayload, statusCode } = await service.server.inject(
          `/api/v1/registry/skills/${item.skill_id}/files/${path}?version=${item.version}&hash=${sha256}`,
        )
        t.equal(statusCode, 200, path)
        t.equal(createHash('sha256').update(rawPayload).digest('hex'), sha256, path)
        await mkdir(dirname(join(folder, path)), { recursive: true })
        await writeFile(join(folder, path), rawPayload, { mode: Number.parseInt(mode, 8) })
      }
      t.equal(
        item.files.find(({ path }: { path: string }) => path === 'SKILL.md').sha256,
        item.render.hash,
      )
      return { item, folder, installed: await readFolder(folder) }
    }

    const first = await install('latest')
    requireFormat(t, first.folder, first.installed)
    t.same(withoutSkill(first.installed), withoutSkill(written), 'byte for byte, with its modes')
    t.equal(bodyOf(first.installed), bodyOf(written))
    t.same(
      frontmatterOf(first.installed),
      {
        ...frontmatterOf(written),
        metadata: {
          ...(frontmatter['metadata'] as object),
          source: 'acme/order-lookup',
          'skill-id': first.item.skill_id,
          version: '1',
          author: 'acme',
        },
      },
      'a YAML reader reads what was written, and where it came from',
    )

    const states = 'references/states.md'
    const edited = { path: states, content: '# States\n\nAsk a colleague.\n' }
    t.match((await author.post(`/skills/${name}/attachments`, edited)).body, { version_number: 2 })
    t.same((await install('latest')).installed, first.installed, 'an edit is not published')
    t.match(await author.post(`/skills/${name}/publish`), { status: 200, body: { version: 2 } })
    const second = await install('latest')
    t.equal(second.installed.get(states)?.content.toString(), edited.content)
    t.equal(second.item.body_sha256, first.item.body_sha256)
    t.same((await install(1)).installed, first.installed, 'version 1 is what it was, byte for byte')
  },
)

type Folder = Map<string, { content: Buffer; mode: '0644' | '0755' }>

/** The files of a folder by path. */
async function readFolder(folder: string): Promise<Folder> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
  const files = paths.toSorted().map(async (path) => {
    const { mode } = await stat(join(folder, path))
    const content = await readFile(join(folder, path))
    return [path, { content, mode: mode & 0o100 ? '0755' : '0644' }] as const
  })
  return new Map(await Promise.all(files))
}

function withoutSkill(folder: Folder) {
  return new Map([...folder].filter(([path]) => path !== 'SKILL.md'))
}

function partsOf(folder: Folder) {
  const text = folder.get('SKILL.md')?.content.toString() ?? ''
  const [, yaml = '', body = ''] = /^---\n(.*?)\n---\n(.*)$/s.exec(text) ?? []
  return { yaml, body: body.trim() }
}

function bodyOf(folder: Folder) {
  return partsOf(folder).body
}

function frontmatterOf(folder: Folder) {
  return parse(partsOf(folder).yaml) as Record<string, unknown>
}

/** The rules of the Agent Skills format. */
function requireFormat(t: Test, path: string, folder: Folder) {
  const { name, description, license, compatibility, metadata, ...others } = frontmatterOf(folder)
  const { 'allowed-tools': tools, ...unknown } = others
  t.same(unknown, {}, 'it has no other keys')
  t.equal(name, basename(path), 'it is named like its folder')
  t.match(name, /^(?=.{1,64}$)[a-z0-9]+(-[a-z0-9]+)*$/)
  t.match(description, /^(?=.*\S).{1,1024}$/s)
  t.match(compatibility, /^.{1,500}$/s)
  for (const text of [license, tools]) t.type(text, 'string')
  for (const value of Object.values(metadata as object)) t.type(value, 'string')
}
