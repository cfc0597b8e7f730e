import t from 'tap'
import { KINDS } from '../../../../../jobs/rules/import/backup/lines.ts'
import { readLine } from '../../../../../jobs/rules/import/backup/read-line.ts'

t.test('every JSON member has a shape, and a text has none of them', (t) => {
  for (const { name, members, shapes } of KINDS) {
    const given = shapes as Readonly<Record<string, (typeof shapes)[keyof typeof shapes]>>
    for (const member of members.filter(({ type }) => type === 'json')) {
      t.ok(given[member.name], `${name}.${member.name}`)
      t.ok(given[member.name]?.validate('damaged', { convert: false }).error, member.name)
    }
    const names = new Set<string>(members.map((member) => member.name))
    t.same(
      Object.keys(shapes).filter((shape) => !names.has(shape)),
      [],
      name,
    )
  }
  t.end()
})

t.test('a fault names kind, member and place', (t) => {
  const line = {
    project: 'p',
    trace_id: 'a',
    verdict: 'keep',
    needs_review: false,
    reasons: [{ rule: 1, code: 7, subject: 's', message: 'm' }],
    policy_agent_name: '',
    policy_version: 0,
    decided_at: '2026-03-04T10:00:00.000Z',
  }
  t.match(readLine('verdict', line, Infinity), {
    message: /^verdict: reasons\.0\.code must be a string/,
  })
  t.match(readLine('verdict', { ...line, reasons: [], verdict: null }, Infinity), {
    message: /^verdict: reasons must contain at least 1/,
  })
  t.end()
})
