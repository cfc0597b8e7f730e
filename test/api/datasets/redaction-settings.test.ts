import t from 'tap'
import { makeTestKey, openService } from '../../support/service.ts'

const SETTINGS = {
  patterns: [
    { name: 'ticket', pattern: 'TCK-\\d+' },
    { name: 'name', pattern: '(?i)\\bann\\b' },
  ],
  keep: ['help@example.com'],
}

t.test('the redaction settings', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const api = service.client(org.key)

  t.test('are empty until they are set, and then those that were set last', async (t) => {
    t.match(await api.get('/redaction-settings'), {
      status: 200,
      body: { patterns: [], keep: [], updated_by: null, updated_at: null },
    })
    const set = await api.put('/redaction-settings', SETTINGS)
    t.match(set, { status: 200, body: { ...SETTINGS, updated_by: String, updated_at: String } })
    t.same((await api.get('/redaction-settings')).body, set.body)
    const { body: changed } = await api.put('/redaction-settings', { keep: ['x'] })
    t.match(changed, { patterns: [], keep: ['x'] }, 'what is left out is gone')
  })

  t.test('are those of one project', async (t) => {
    await api.put('/redaction-settings?project=one', { keep: ['one'] })
    await api.put('/redaction-settings', { keep: ['two'], project: 'two' })
    t.match((await api.get('/redaction-settings?project=one')).body, { keep: ['one'] })
    t.match((await api.get('/redaction-settings?project=two')).body, { keep: ['two'] })
    t.equal((await api.get('/redaction-settings?project=three')).status, 404)
    const bound = { scope: 'project', project_id: org.projectId, permissions: 'write' } as const
    const own = service.client((await makeTestKey(service.sql, org.orgId, bound)).raw)
    t.match(await own.put('/redaction-settings', { keep: ['own'] }), { status: 200 })
    t.match((await api.get('/redaction-settings?project=default')).body, { keep: ['own'] })
    t.equal((await own.put('/redaction-settings?project=one', {})).status, 403)
    t.equal((await own.get('/redaction-settings?project=one')).status, 403)
    const other = service.client((await service.makeOrganization()).key)
    t.match((await other.get('/redaction-settings')).body, { keep: [] })
  })

  t.test('are set by keys that may write', async (t) => {
    const key = { scope: 'global', permissions: 'read' } as const
    const reader = service.client((await makeTestKey(service.sql, org.orgId, key)).raw)
    t.equal((await reader.get('/redaction-settings')).status, 200)
    t.equal((await reader.put('/redaction-settings', SETTINGS)).status, 403)
  })

  t.test('422: a pattern that is refused names its fault', async (t) => {
    const many = (count: number) =>
      Array.from({ length: count }, (_, i) => ({ name: `n${i}`, pattern: 'x' }))
    const cases: [object, string, RegExp][] = [
      [
        { patterns: [{ name: 'a', pattern: '(a' }] },
        'body.patterns.0.pattern',
        /no pattern of RE2/,
      ],
      [{ patterns: [{ name: 'a', pattern: '(?=a)' }] }, 'body.patterns.0.pattern', /no pattern/],
      [{ patterns: [{ name: 'a', pattern: 'a*' }] }, 'body.patterns.0.pattern', /an empty text/],
      [
        { patterns: [{ name: 'a', pattern: '\\b(?:[x ]*y)?' }] },
        'body.patterns.0.pattern',
        /an empty text/,
      ],
      [
        { patterns: [{ name: 'a', pattern: '(?i)[a-\\x{10FFFF}]' }] },
        'body.patterns.0.pattern',
        /ranges of more/,
      ],
      [{ patterns: [{ name: 'a', pattern: 'a{900}' }] }, 'body.patterns.0.pattern', /instructions/],
      [{ patterns: [{ name: 'a' }] }, 'body.patterns.0.pattern', /required/],
      [{ patterns: many(21) }, 'body.patterns', /20/],
      [{ patterns: [...many(2), ...many(1)] }, 'body.patterns.2', /duplicate/],
      [{ keep: Array.from({ length: 1001 }, (_, i) => `k${i}`) }, 'body.keep', /1000/],
      [{ keep: ['a\0'] }, 'body.keep.0', /NUL/],
    ]
    for (const [body, field, message] of cases) {
      const answer = await api.put('/redaction-settings', body)
      t.equal(answer.status, 422, field)
      t.match(answer.body.details.errors[0], { field, message })
    }
    t.equal((await api.put('/redaction-settings', { patterns: many(20) })).status, 200)
  })
})
