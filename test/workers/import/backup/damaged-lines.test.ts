import t from 'tap'
import { KINDS } from '../../../../jobs/rules/import/backup/lines.ts'
import { fillOrganization } from '../../../support/backup/full-organization.ts'
import { linesOf, openInstallation, withEnd } from '../../../support/backup/backups.ts'
import { settled } from '../../../support/settled.ts'

type Line = Record<string, unknown> & { kind: string }

const source = await openInstallation(t)
const owner = await source.service.makeOrganization()
await fillOrganization(source.service, owner, { traces: 60 })
const lines = linesOf(await source.take(owner)).slice(0, -1)

t.test('a line whose JSON is not of its kind is refused, and all else is kept', async (t) => {
  const org = await source.service.makeOrganization()
  const client = source.service.client(org.key)
  const damaged = lines.map(damage)
  const shown = await source.restore(org, withEnd(damaged.map(({ text }) => text)))
  t.match(shown, { status: 'succeeded' })
  const { body } = await client.get(`/import/${shown.id}/errors?limit=1000`)
  const errors = new Map(
    (body.errors as { line: number; message: string }[]).map(({ line, message }) => [
      line,
      message,
    ]),
  )
  const unsaid = damaged.flatMap(({ kind, member }, i) => {
    const message = errors.get(i + 1) ?? ''
    return member === undefined || (message.startsWith(`${kind}: `) && message.includes(member))
      ? []
      : [`${kind}.${member} (${message})`]
  })
  t.same(unsaid, [], 'names kind and member')
  const tried = new Set(
    damaged.flatMap(({ kind, member }) => (member ? [`${kind}.${member}`] : [])),
  )
  t.ok(tried.size >= 9, [...tried].join(' '))

  for (const path of READ) {
    const { status } = await client.get(path)
    t.ok(status < 500, `${path}: ${status}`)
  }
  const sent = { agent_name: 'shop', status: 'success', final_output_preview: 'thanks' }
  const { body: trace } = await client.post('/traces', { trace_id: 'afterwards', ...sent })
  await settled(source.service.sql, org.orgId)
  const { status } = await client.get(`/traces/${trace.trace_id}/decision`)
  t.equal(status, 200, 'and traces are judged')
})

/** Puts a text in the place of the n-th JSON member of the n-th line of each kind. */
const seen = new Map<string, number>()
function damage(text: string): { kind: string; text: string; member?: string } {
  const line = JSON.parse(text) as Line
  const { kind } = line
  const count = seen.get(kind) ?? 0
  seen.set(kind, count + 1)
  const members = KINDS.find(({ name }) => name === kind)?.members ?? []
  const free = members.filter(({ name, type }) => type === 'json' && line[name] !== null)
  const member =
    count % 2 === 1 && count < 8 ? free[(count >> 1) % Math.max(free.length, 1)] : undefined
  if (!member || kind === 'trace') return { kind, text }
  return { kind, member: member.name, text: JSON.stringify({ ...line, [member.name]: 'damaged' }) }
}

const READ = [
  '/traces?limit=100',
  '/evaluators',
  '/decision-policy',
  '/redaction-settings',
  '/manifests',
  '/datasets',
  '/regression-check',
  '/replay/batches',
  '/skills',
]
