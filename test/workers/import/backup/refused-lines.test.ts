import { randomUUID } from 'node:crypto'
import t from 'tap'
import { restoreHandler } from '../../../../workers/import/backup/restore-backup.ts'
import { openRestores } from '../../../support/backup/restores.ts'
import { skillLine, versionLine } from '../../../support/backup/skill-lines.ts'
import { backupOf, scoreLine, traceLine } from '../../../support/backup-lines.ts'
import type { TestLine } from '../../../support/backup-lines.ts'
import { openService } from '../../../support/service.ts'

t.test('lines that are refused', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const restore = openRestores(t, service)
  await service.startWorkers([restoreHandler()])

  await t.test('are told in messages of bounded length', async (t) => {
    const long = 'x'.repeat(1 << 20)
    const ended = await restore(
      backupOf([traceLine('a'), scoreLine(long), evaluator({ project: long })]),
    )
    t.same(ended.told, [
      [3, 'stray_line'],
      [4, 'unknown_reference'],
    ])
    for (const { message } of ended.errors) t.ok(message.length < 400, `${message.length}`)
  })

  await t.test('do not cost the others, whatever is in them', async (t) => {
    const twice = manifest()
    const lines = [
      evaluator({ type: 'constructor' }),
      evaluator({ name: 'good' }),
      twice,
      twice,
      traceLine('n', { project: 'NUL \0', status: 'x' }),
      traceLine('ok'),
    ]
    const ended = await restore(backupOf(lines))
    t.match(ended.shown, { status: 'succeeded', imported_count: 1 })
    t.same(ended.told, [
      [2, 'refused'],
      [6, 'invalid_line'],
    ])
    const components = await sql`
      select from manifest_components where org_id = ${ended.orgId}`
    t.equal(components.length, 1)
  })

  await t.test('say to be there since a time that has not come', async (t) => {
    const later = '2999-01-01T00:00:00.000Z'
    const soon = new Date(Date.now() + 60_000).toISOString()
    const lines = [
      evaluator({ created_at: later }),
      skillLine('s', { created_at: later }),
      traceLine('late', { created_at: later }),
      traceLine('open', { settles_at: later }),
      traceLine('soon', { created_at: soon, settles_at: soon }),
      scoreLine('soon', { created_at: later }),
      traceLine('ok', { created_at: soon, settles_at: soon }),
    ]
    const ended = await restore(backupOf(lines))
    t.same(ended.told, [
      [2, 'invalid_line'],
      [3, 'invalid_line'],
      [4, 'invalid_line'],
      [5, 'invalid_line'],
      [6, 'left_out'],
      [7, 'invalid_line'],
    ])
    t.match(ended.errors[0]?.message, 'evaluator: created_at must not be later than now')
    t.match(ended.shown, { imported_count: 1 })
  })

  await t.test('are over the limits that requests have', async (t) => {
    const evaluators = Array.from({ length: 102 }, (_, i) => evaluator({ name: `e${i}` }))
    const patterns = Array.from({ length: 12 }, (_, i) =>
      evaluator({ name: `p${i}`, type: 'regex', config: { pattern: 'x' } }),
    )
    const first = await restore(backupOf([...patterns, ...evaluators]))
    t.match(first.shown, { status: 'succeeded', error_count: 14 })
    t.match(first.told.slice(0, 3), [
      [12, 'over_limit'],
      [13, 'over_limit'],
      [104, 'over_limit'],
    ])
    const again = await restore(backupOf([...patterns, ...evaluators]), first)
    t.same(again.told, first.told)

    const names: TestLine[] = [
      { kind: 'workspace', name: 'w'.repeat(257) },
      { kind: 'workspace', name: randomUUID() },
      { kind: 'project', name: 'p'.repeat(257), workspace: 'default' },
      { kind: 'project', name: randomUUID(), workspace: 'default' },
    ]
    const scores = [
      { source: 'planet' },
      { name: 'n'.repeat(257) },
      { reason: 'r'.repeat(4001) },
      { label: 'l'.repeat(257) },
      { source_label: 's'.repeat(257) },
      { identifier: 'i'.repeat(129) },
      { value: null },
    ].flatMap((given, i) => [traceLine(`t${i}`), scoreLine(`t${i}`, given)])
    const skills = [
      skillLine('none', { name: 'No Name' }),
      skillLine('s'),
      versionLine('s', { version_number: 1001 }),
      versionLine('s', { body: 'x'.repeat((256 << 10) + 1) }),
      versionLine('s', { body: '---\nname: x\n---\n' }),
      versionLine('s', { body: ' outer ' }),
    ]
    const lines = [...names, ...skills, ...scores]
    const ended = await restore(backupOf(lines))
    const told = new Map(ended.told as [number, string][])
    const untold = lines.filter((_, i) => !told.has(i + 2))
    t.same(untold, [])
    t.match(ended.shown, { status: 'succeeded', imported_count: 0 })
  })

  await t.test('are skills past those that an organization may have', async (t) => {
    const org = await service.makeOrganization()
    await sql`
      insert into skills (org_id, id, name, description, document)
      select ${org.orgId}, gen_random_uuid(), 's' || n, 'd', ''::tsvector
      from generate_series(1, 9999) n`
    const names = ['a', 'b', 's1']
    const lines = [
      ...names.map((name) => skillLine(name)),
      ...names.map((name) => versionLine(name)),
    ]
    const ended = await restore(backupOf(lines), org)
    t.same(ended.told, [
      [3, 'over_limit'],
      [6, 'unknown_reference'],
    ])
  })
})

function evaluator(given: object = {}): TestLine {
  return {
    kind: 'evaluator',
    project: 'default',
    id: randomUUID(),
    name: 'e',
    agent_name: '',
    type: 'json_valid',
    eval_type: 'deterministic',
    config: {},
    created_at: '2026-03-01T10:00:00.000Z',
    ...given,
  }
}

function manifest(): TestLine {
  const hash = `sha256:${'a'.repeat(64)}`
  return {
    kind: 'manifest',
    project: 'default',
    id: randomUUID(),
    agent_name: 'shop',
    version_number: 1,
    manifest_hash: hash,
    shown_hash: hash,
    contract_hash: hash,
    status: 'superseded',
    is_closed_world: false,
    is_held: false,
    components: [
      {
        component_type: 'model',
        component_name: 'gpt-4o',
        component_version: '1',
        content_hash: hash,
      },
    ],
    components_count: 1,
    metadata: {},
    created_at: '2026-03-01T10:00:00.000Z',
  }
}
