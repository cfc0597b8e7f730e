import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { openDocumented, splitObjects } from '../support/documented-commands.ts'

t.test('what the document on skills shows leads from a folder to another one', async (t) => {
  const { folder, runShell } = await openDocumented(t, 'skills.md')
  const [synced, attached, checked, used, published, found, resolved, installed, merged, ...more] =
    await runShell()
  t.match(splitObjects(synced), [{ created: 1, failures: [] }])
  t.match(splitObjects(attached), [{ path: 'scripts/find.sh', mode: '0755', version_number: 1 }])
  t.match(splitObjects(checked), [{ skill_safety: 'passed', findings: [] }])
  t.match(splitObjects(used), [
    { agent_name: 'shop-agent', already: false },
    { skills: [{ name: 'order-lookup', is_assigned: true }] },
    { body: /^# Order lookup/, version_number: 1 },
  ])
  t.match(splitObjects(published), [{ status: 'ok', category: 'support', version: 1 }])
  t.match(splitObjects(found), [
    { items: [{ name: 'order-lookup', tags: ['orders'], installed_as: null }], total: 1 },
    { body_markdown: /^# Order lookup/, attachment_count: 1 },
  ])
  t.equal(resolved?.trim(), 'order-lookup/SKILL.md: OK')
  const read = (path: string) => readFileSync(join(folder, 'order-lookup', path), 'utf8')
  t.match(read('SKILL.md'), /^---\nname: order-lookup\ndescription: .*\nlicense: MIT\n/)
  t.equal(read('scripts/find.sh'), 'grep "^$1 " orders.txt\n')
  t.match(splitObjects(installed), [{ status: 'ok', skill: { name: 'find-orders' } }])
  t.match(splitObjects(merged), [
    { status: 'ok', version: 2 },
    { name: 'find-orders', has_upstream_update: true, visibility: 'private' },
    { status: 'ok', version_number: 2, overwrote_local_changes: false },
  ])
  const [benched, decided] = more
  t.match(splitObjects(benched), [{ passed_cases: 2, pass_rate_delta_pts: 50, voided: false }])
  t.match(splitObjects(decided), [
    { held_at: String },
    { code: 'not_found' },
    { held_at: null },
    { band: 'caution' },
  ])
})
