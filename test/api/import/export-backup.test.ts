import { createHash } from 'node:crypto'
import t from 'tap'
import { storeJudged } from '../../support/stored-traces.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('the backup of an organization', async (t) => {
  const service = await openService(t)
  const { sql, server } = service
  await server.start()

  async function open() {
    const org = await service.makeOrganization()
    const exported = (
      query = '',
      key = org.key,
      init: { signal?: AbortSignal; headers?: Record<string, string> } = {},
    ) =>
      fetch(`${server.info.uri}/api/v1/export/backup${query}`, {
        ...init,
        headers: { authorization: `Bearer ${key}`, 'accept-encoding': 'identity', ...init.headers },
      })
    const lines = async (query?: string, key?: string) =>
      linesOf(await (await exported(query, key)).text())
    return { ...org, ...service.client(org.key), exported, lines }
  }

  await t.test('has what follows traces with them only', async (t) => {
    const { get } = await open()
    t.match(await get('/export/backup?kinds=dataset,score'), {
      status: 422,
      body: { details: { errors: [{ field: 'query.kinds' }] } },
    })
    t.match(await get('/export/backup?kinds=dataset,score,trace'), { status: 200 })
  })

  await t.test(
    'has each trace with what follows it, in byte order, and ends in a sum',
    async (t) => {
      const org = await open()
      await storeJudged(
        sql,
        org,
        ['b', 'ä', 'B', 'a'].map((trace_id) => ({ trace_id })),
      )
      const answer = await org.exported()
      t.equal(answer.headers.get('content-type'), 'application/x-ndjson')
      const file = await answer.text()
      const lines = linesOf(file)
      t.same(lines.slice(0, 3), [
        { kind: 'backup', format: 1 },
        { kind: 'workspace', name: 'default' },
        { kind: 'project', name: 'default', workspace: 'default' },
      ])
      t.same(
        lines.slice(3, -1).map(({ kind, trace_id }) => [trace_id, kind]),
        ['B', 'a', 'b', 'ä'].flatMap((id) =>
          ['trace', 'score', 'verdict'].map((kind) => [id, kind]),
        ),
      )
      const end = file.lastIndexOf('{"kind":"end"')
      const sha256 = createHash('sha256').update(file.slice(0, end)).digest('hex')
      const counts = { workspace: 1, project: 1, trace: 4, score: 4, verdict: 4 }
      t.same(lines.at(-1), { kind: 'end', counts, sha256 })
      t.equal(await (await org.exported()).text(), file, 'equal content has equal bytes')
      const packed = await org.exported('', org.key, { headers: { 'accept-encoding': 'gzip' } })
      t.equal(packed.headers.get('content-encoding'), 'gzip')
      t.equal(await packed.text(), file, 'inflated by the client')
    },
  )

  await t.test('has traces of more than one page once each', async (t) => {
    const org = await open()
    const ids = Array.from({ length: 1203 }, (_, i) => `t${String(i).padStart(4, '0')}`)
    await storeJudged(
      sql,
      org,
      ids.map((trace_id) => ({ trace_id })),
    )
    const traces = await org.lines('?kinds=trace')
    t.same(
      traces.slice(1, -1).map(({ trace_id }) => trace_id),
      ids,
    )
  })

  await t.test('has only the kinds that are named', async (t) => {
    const org = await open()
    await storeJudged(sql, org, [{ trace_id: 'a' }])
    const kinds = (lines: Line[]) => lines.slice(1, -1).map(({ kind }) => kind)
    t.same(kinds(await org.lines('?kinds=trace')), ['trace'])
    t.same(kinds(await org.lines('?kinds=verdict,trace,project')), ['project', 'trace', 'verdict'])
    t.equal((await org.exported('?kinds=trace,none')).status, 422)
  })

  await t.test('has nothing that was made after it began', async (t) => {
    const org = await open()
    await storeJudged(sql, org, [{ trace_id: 'a' }, { trace_id: 'b' }])
    await sql`update traces set created_at = now() + '1 h' where org_id = ${org.orgId} and trace_id = 'b'`
    await sql`update eval_scores set created_at = now() + '1 h' where org_id = ${org.orgId}`
    const kinds = (await org.lines()).map(({ kind, trace_id }) => trace_id ?? kind)
    t.same(kinds, ['backup', 'workspace', 'project', 'a', 'a', 'end'])
  })

  await t.test('is for admins of the organization, and others get their projects', async (t) => {
    const org = await open()
    await storeJudged(sql, org, [{ trace_id: 'a' }])
    const { body: workspace } = await org.post('/workspaces', { name: 'other' })
    const { body: project } = await org.post('/projects', {
      name: 'mine',
      workspace_id: workspace.id,
    })
    await storeJudged(sql, { ...org, projectId: project.id }, [{ trace_id: 'm' }])
    const keyOf = async (key: Parameters<typeof makeTestKey>[2]) =>
      (await makeTestKey(sql, org.orgId, key)).raw
    const reader = await keyOf({ scope: 'global', permissions: 'read' })
    t.equal((await org.exported('', reader)).status, 403)
    const own = { workspace_id: workspace.id, permissions: 'read' } as const
    for (const key of [
      await keyOf({ scope: 'workspace', ...own }),
      await keyOf({ scope: 'project', project_id: project.id, ...own }),
    ]) {
      const seen = (await org.lines('', key)).map(({ name, trace_id }) => name ?? trace_id)
      t.same(seen.filter(Boolean), ['other', 'mine', 'm', 'reward', 'm'])
    }
  })

  await t.test('is exported twice at a time, and ends when its client goes', async (t) => {
    const org = await open()
    // More than the sockets hold of what nobody reads.
    const messages = [{ role: 'user', content: 'x'.repeat(8_000_000) }]
    await storeJudged(
      sql,
      org,
      ['a', 'b', 'c'].map((trace_id) => ({ trace_id, messages })),
    )
    const leaving = new AbortController()
    const [first, second] = [
      org.exported('', org.key, { signal: leaving.signal }),
      org.exported('', org.key, { signal: leaving.signal }),
    ]
    await Promise.all([first, second])
    const third = await org.exported()
    t.equal(third.status, 429)
    t.match(await third.json(), { code: 'too_many_at_once' })
    t.ok(third.headers.get('retry-after'))
    t.equal((await (await open()).exported('?kinds=project')).status, 200, 'others may')
    leaving.abort()
    await until(async () => (await org.exported('?kinds=project')).status === 200)
  })

  await t.test('breaks off where a row cannot be read, and has no end', async (t) => {
    const org = await open()
    await storeJudged(sql, org, [{ trace_id: 'a' }])
    await sql`update traces set content = '\\x02' where org_id = ${org.orgId}`
    for (const encoding of ['identity', 'gzip']) {
      const headers = { 'accept-encoding': encoding }
      await t.rejects(org.exported('', org.key, { headers }).then((answer) => answer.text()))
    }
  })
})

// oxlint-disable-next-line typescript/no-explicit-any
type Line = any

function linesOf(file: string): Line[] {
  return file
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}
