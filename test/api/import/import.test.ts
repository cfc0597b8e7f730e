import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { deflateSync, gzipSync } from 'node:zlib'
import { pack } from 'tar-stream'
import t from 'tap'
import { decodeContent } from '../../../jobs/rules/traces/content.ts'
import { conversationOf } from '../../../jobs/rules/traces/conversation.ts'
import { importTracesHandler } from '../../../workers/import/import-traces.ts'
import { makeTestKey, openService } from '../../support/service.ts'
import { TAU_BENCH_FILE } from '../../support/tau-bench.ts'

const LINES = { 'content-type': 'application/x-ndjson' }
const jsonl = (records: readonly unknown[]) =>
  records.map((each) => (typeof each === 'string' ? each : JSON.stringify(each))).join('\n')

t.test('imports', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const uploads = () => readdir(join(service.storageFolder, 'imports')).catch(() => [])

  async function open() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    return {
      ...org,
      ...client,
      upload: (file: string | Buffer, query = '', headers: Record<string, string> = LINES) =>
        client.call('POST', `/import/jsonl${query}`, file, headers),
      /** Lines and codes of an import's errors. */
      async errors(id: string) {
        const { body } = await client.get(`/import/${id}/errors`)
        return (body.errors as { line: number; code: string }[]).map(({ line, code }) => [
          line,
          code,
        ])
      },
      traces: () => sql`
        select trace_id, agent_name, task_id, tool_call_count, content, user_input_preview, metadata
        from traces where org_id = ${org.orgId} order by trace_id`,
      scores: () => sql`
        select trace_id, name, value, source from eval_scores
        where org_id = ${org.orgId} order by trace_id, name`,
    }
  }

  await t.test(
    'one that waits is answered at once when asked to, and canceled at once',
    async (t) => {
      const { upload, post, get } = await open()
      const { status, headers, body } = await upload('{"agent_name":"a"}', '', {
        ...LINES,
        prefer: 'respond-async',
      })
      t.match(status, 202)
      t.match(headers, { location: `/api/v1/jobs/${body.job_id}`, 'retry-after': '1' })
      t.match(body, { status: 'queued', source: 'auto', imported_count: 0, progress: { bytes: 0 } })
      t.equal((await uploads()).length, 1)
      t.match(await post(`/import/${body.import_id}/cancel`), {
        status: 200,
        body: { status: 'canceled', import_id: body.import_id },
      })
      t.same(await uploads(), [], 'the upload is gone')
      t.match(await get(`/import/${body.import_id}`), { body: { status: 'canceled' } })
      t.equal((await post(`/import/${body.import_id}/cancel`)).status, 200)
    },
  )

  await service.startWorkers([importTracesHandler])

  t.test('a tau-bench result file', async (t) => {
    const { upload, orgId, scores } = await open()
    const file = readFileSync(TAU_BENCH_FILE)
    const first = await upload(file, '', { 'content-type': 'application/json' })
    t.match(first, { status: 200, body: { status: 'succeeded', source: 'tau_bench' } })
    t.match(first.body, {
      imported_count: 10,
      skipped_count: 0,
      error_count: 0,
      scores_imported: 10,
      progress: { bytes: file.length, bytes_total: file.length, lines: 10 },
    })
    t.match((await upload(file)).body, { imported_count: 0, skipped_count: 10, error_count: 0 })
    const [facts] = await sql`
      select sum(tool_call_count)::int as calls, count(distinct task_id)::int as tasks,
        count(*) filter (where malformed is not null)::int as malformed
      from traces where org_id = ${orgId}`
    t.match(facts, { calls: 15, tasks: 4, malformed: 0 })
    const rewards = await scores()
    t.equal(rewards.length, 10)
    t.ok(rewards.every(({ name, source }) => name === 'reward' && source === 'custom'))
  })

  t.test('traces with their scores come in once and are judged', async (t) => {
    const { upload, traces, scores, orgId } = await open()
    const file = jsonl([
      { trace_id: 't1', agent_name: 'a', scores: { helpful: 0.5, done: 1 } },
      '',
      { trace_id: 't2', messages: [{ role: 'user', content: 'hi' }] },
      { trace_id: 't1', agent_name: 'b' },
    ])
    const first = await upload(file, '?agent_name=named')
    t.match(first.body, {
      status: 'succeeded',
      imported_count: 2,
      skipped_count: 1,
      error_count: 0,
    })
    t.match(first.body, { scores_imported: 2, agent_name: 'named', progress: { lines: 4 } })
    t.match(await traces(), [{ agent_name: 'a' }, { agent_name: 'named' }])
    t.match(await scores(), [
      { trace_id: 't1', name: 'done', value: 1, source: 'custom' },
      { trace_id: 't1', name: 'helpful', value: 0.5 },
    ])
    const judged = await sql<{ ids: string[] }[]>`
      select data->'payload'->'trace_ids' as ids from pgboss.job
      where name = 'evals.judge' and data->>'org_id' = ${orgId}`
    t.same(judged.flatMap(({ ids }) => ids).sort(), ['t1', 't2'])
    const again = await upload(file, '?agent_name=named')
    t.match(again.body, { imported_count: 0, skipped_count: 3, scores_imported: 0 })
    t.same(await uploads(), [])
  })

  t.test('a chat keeps what Postgres text cannot hold, and strings of 10 MB', async (t) => {
    const { upload, traces } = await open()
    const messages = [
      { role: 'user', content: 'nul \0 lone \ud800 end' },
      { role: 'assistant', content: 'x'.repeat(10 << 20) },
    ]
    const record = { trace_id: 'big', agent_name: 'a', messages, metadata: { odd: '\0\udc00' } }
    t.match((await upload(jsonl([record]))).body, { imported_count: 1, error_count: 0 })
    const [row] = await traces()
    t.equal(row?.['user_input_preview'], 'nul \ufffd lone \ufffd end')
    t.match(row?.['metadata'], { odd: '\ufffd\ufffd', import: { source: 'openai_chat' } })
    const content = decodeContent(row?.['content'] as Buffer)
    const kept = conversationOf({
      ...content,
      user_input_preview: null,
      final_output_preview: null,
    })
    t.equal(JSON.stringify(kept) === JSON.stringify(messages), true)
  })

  t.test('a bad record costs only itself and is reported by its line', async (t) => {
    const { upload, traces, errors, get, call } = await open()
    const good = (id: string) => ({ trace_id: id, agent_name: 'a' })
    const file = jsonl([
      good('t1'),
      '{"broken":',
      '',
      { agent_name: 'a', trace_id: 't2', tags: 'no list', llm_calls: 5 },
      good('t3'),
      { whatever: 1 },
      { agent_name: 'a', metadata: JSON.parse('['.repeat(99) + ']'.repeat(99)) as unknown },
      `"${'x'.repeat(17 << 20)}"`,
      { ...good('t5'), scores: { s: 'high', r: 1 }, manifest_id: 'v7' },
      { ...good('t4'), manifest_id: '0197a1b2-0000-7000-8000-000000000000' },
    ])
    const { body } = await upload(file)
    t.match(body, {
      status: 'succeeded',
      imported_count: 4,
      error_count: 5,
      scores_imported: 1,
      losses: { invalid_score: 1, unknown_manifest: 2 },
    })
    t.same(await errors(body.id), [
      [2, 'invalid_json'],
      [4, 'invalid_record'],
      [6, 'unknown_format'],
      [7, 'too_deep'],
      [8, 'too_long'],
    ])
    t.match(await traces(), [
      { trace_id: 't1' },
      { trace_id: 't3' },
      {
        trace_id: 't4',
        manifest_id: null,
        metadata: { unknown_manifest_id: '0197a1b2-0000-7000-8000-000000000000' },
      },
      {
        trace_id: 't5',
        manifest_id: null,
        metadata: {
          unknown_manifest_id: 'v7',
          import: { warnings: [/v7 is none of/, /^scores.s.value must be a number/] },
        },
      },
    ])
    const page = await get(`/import/${body.id}/errors?limit=4`)
    t.match(page.body, { total: 5, limit: 4 })
    const counts = page.body.by_code as Record<string, number>
    t.equal(
      Object.values(counts).reduce((sum, n) => sum + n, 0),
      5,
    )
    const code = Object.keys(counts)[0]
    const some = (await get(`/import/${body.id}/errors?code=${code}`)).body
    t.equal(some.total, counts[code as string])
    t.equal(some.errors.length, some.total)
    t.ok(some.errors.every((error: { code: string }) => error.code === code))
    const lines = await call('GET', `/import/${body.id}/errors?format=jsonl&code=${code}`)
    t.equal((lines.body as string).trim().split('\n').length, some.total)
    t.match(page.body.errors[1], {
      line: 4,
      message: 'llm_calls must be a list; tags must be a list',
    })
    const rest = await get(`/import/${body.id}/errors?limit=4&cursor=${page.body.next_cursor}`)
    t.match(rest.body, { errors: [{ line: 8 }], next_cursor: null })
    t.equal((await get(`/import/${body.id}/errors?cursor=x`)).status, 400)
    const all = await call('GET', `/import/${body.id}/errors?format=jsonl`)
    t.match(all.headers['content-type'], 'application/x-ndjson')
    t.equal((all.body as string).trim().split('\n').length, 5)
  })

  t.test('whatever type a member has, its record is imported or reported', async (t) => {
    const { upload, get } = await open()
    const names =
      `id trace_id agent_name manifest_id manifest_hash session_id turn_index task_id parent_trace_id
      routing_id user_id environment release status source_type started_at ended_at duration_ms
      user_input_preview final_output_preview error_code error_message tags metadata session_metadata
      active_skills skills_offered_in_prompt skills_loaded_by_agent skills_delivered spans llm_calls
      eval_scores scores messages tools input output model usage traj trial reward info`.split(
        /\s+/,
      )
    const values = [
      null,
      true,
      -1.5,
      1e308,
      '',
      'x',
      '\0',
      '\ud800',
      'x'.repeat(5000),
      [],
      {},
      [null],
    ]
    const nested = [['x'], [[]], { x: { y: 1 } }, [{ id: 7, name: {}, rendered_input: [7] }]]
    const lines = names.flatMap((name) =>
      [...values, ...nested].map((value, i) => ({
        agent_name: 'a',
        messages: [{ role: 'user', content: `${name} ${i}` }],
        [name]: value,
      })),
    )
    const { body } = await upload(jsonl(lines))
    t.equal(body.status, 'succeeded')
    const { errors } = (await get(`/import/${body.id}/errors`)).body
    t.equal(body.imported_count + body.skipped_count + body.error_count, lines.length)
    t.ok(body.imported_count > 100 && body.error_count > 200, JSON.stringify(body))
    t.ok(body.losses.invalid_score > 10 && body.losses.unknown_manifest >= 1)
    t.notOk(
      errors.find(
        ({ code }: { code: string }) =>
          !/^(invalid_record|unknown_format|empty_conversation)$/.test(code),
      ),
    )
  })

  t.test('files may be arrays, objects and gzip, whatever they are called', async (t) => {
    const { upload } = await open()
    const record = (id: string) => ({ trace_id: id, agent_name: 'a' })
    const files: [string | Buffer, number, Record<string, string>][] = [
      [JSON.stringify([record('a1'), record('a2')], null, 2), 2, { 'content-type': 'text/plain' }],
      [JSON.stringify({ traces: [record('b1')] }), 1, { 'content-type': 'application/json' }],
      [JSON.stringify(record('c1'), null, 2), 1, { 'content-type': 'application/jsonl' }],
      [gzipSync(jsonl([record('d1'), record('d2')])), 2, { 'content-type': 'application/gzip' }],
      [gzipSync(jsonl([record('e1')])), 1, { 'content-type': 'a/b', 'content-encoding': 'gzip' }],
      [gzipSync(jsonl([record('e2')])), 1, { 'content-type': 'a/b', 'content-encoding': 'X-GZip' }],
      [deflateSync(jsonl([record('e3')])), 1, { ...LINES, 'content-encoding': 'deflate' }],
      [
        `\ufeff${JSON.stringify(record('f1'))}\r\n`,
        1,
        { 'content-type': 'application/octet-stream' },
      ],
    ]
    for (const [file, imported_count, headers] of files) {
      const { status, body } = await upload(file, '', headers)
      t.match({ status, ...body }, { status: 'succeeded', imported_count, error_count: 0 })
    }
  })

  t.test('files may be archives, tables and requests, whatever they are called', async (t) => {
    const { upload, get, errors } = await open()
    const archive = pack()
    archive.entry({ name: 'README.md' }, 'All traces of one day')
    archive.entry({ name: 'a.jsonl' }, jsonl([{ trace_id: 'a1', agent_name: 'a' }, '{"broken"']))
    archive.entry({ name: 'b.gz' }, gzipSync('[{"trace_id": "b1", "agent_name": "a"}]'))
    archive.finalize()
    const tar = Buffer.concat(await Array.fromAsync(archive as AsyncIterable<Buffer>))
    for (const [file, skipped] of [
      [tar, 0],
      [gzipSync(tar), 2],
    ] as const) {
      const { body } = await upload(file, '', { 'content-type': 'application/x-tar' })
      t.match(body, {
        status: 'succeeded',
        imported_count: 2 - skipped,
        skipped_count: skipped,
        error_count: 1,
        losses: { entries_skipped: 1 },
      })
      t.same(await errors(body.id), [[2, 'invalid_json']])
      const [error] = (await get(`/import/${body.id}/errors`)).body.errors
      t.match(error.message, /^entry "a\.jsonl": The record is not well-formed JSON/)
    }
    const run = {
      id: 'r1',
      trace_id: 'r1',
      dotted_order: '20260101T000000000000Zr1',
      name: 'agent',
      run_type: 'chain',
      start_time: '2026-01-01T00:00:00Z',
      end_time: '2026-01-01T00:00:01Z',
    }
    const parts = [
      ['post.r1', JSON.stringify(run)],
      ['post.r1.inputs', '{"q": "Where is order 42?"}'],
    ].map(
      ([name, text]) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${text}\r\n`,
    )
    const { body } = await upload(`${parts.join('')}--b--\r\n`, '?source=langsmith', {
      'content-type': 'multipart/form-data; boundary=b',
    })
    t.match(body, { status: 'succeeded', source: 'langsmith', imported_count: 1, error_count: 0 })
  })

  t.test('gzip that ends early fails and keeps what came before', async (t) => {
    const { upload, errors } = await open()
    const zipped = gzipSync(
      jsonl(Array.from({ length: 2000 }, (_, i) => ({ agent_name: `a${i * i}` }))),
    )
    const { body } = await upload(zipped.subarray(0, zipped.length / 2))
    t.match(body, { status: 'failed', error: { code: 'truncated' }, error_count: 1 })
    t.ok(body.imported_count > 100 && body.imported_count < 2000)
    t.same(await errors(body.id), [[body.imported_count + 1, 'truncated']])
  })

  t.test(
    'an array without its end, or with more behind it, fails and keeps what came before',
    async (t) => {
      const { upload, errors } = await open()
      for (const [end, code] of [
        [',', 'truncated'],
        ['] {}', 'trailing_content'],
      ]) {
        const { body } = await upload(`[{"agent_name":"${code}"}${end}`)
        t.match(body, { status: 'failed', error: { code }, imported_count: 1, error_count: 1 })
        t.same(await errors(body.id), [[2, code]])
      }
    },
  )

  t.test('a file that cannot be read at all fails with one clear error', async (t) => {
    const { upload, errors } = await open()
    const files: [string | Buffer, string][] = [
      [Buffer.from(Array.from({ length: 5000 }, (_, i) => (i * 7919) % 256)), 'not_text'],
      [gzipSync(gzipSync('{"agent_name":"a"}')), 'nested_gzip'],
      [gzipSync('{"agent_name":"a"}').subarray(0, 12), 'truncated'],
      ['[{"agent_name":"a"', 'truncated'],
    ]
    for (const [file, code] of files) {
      const { status, body } = await upload(file)
      t.match(
        { code: status, ...body },
        { code: 200, status: 'failed', error: { code }, error_count: 1 },
      )
      t.same(await errors(body.id), [[1, code]])
    }
    const table = await upload('name,value\nx,1\n')
    t.match(table.body, { status: 'failed', error: { code: 'nothing_readable' }, error_count: 2 })
    t.same(await uploads(), [])
  })

  t.test('an empty file holds nothing, which is no error', async (t) => {
    const { upload } = await open()
    for (const file of ['', '\n\n', '[]', gzipSync('')]) {
      t.match((await upload(file)).body, { status: 'succeeded', imported_count: 0, error_count: 0 })
    }
  })

  t.test('a dry run counts and reports and stores nothing', async (t) => {
    const { upload, traces, scores, errors, orgId } = await open()
    const file = jsonl([{ agent_name: 'a', scores: { s: 1 } }, { agent_name: 7 }])
    const { body } = await upload(file, '?dry_run=true')
    t.match(body, { status: 'succeeded', dry_run: true, imported_count: 1, scores_imported: 1 })
    t.same(await errors(body.id), [[2, 'invalid_record']])
    t.same([await traces(), await scores()], [[], []])
    const [jobs] = await sql`
      select count(*)::int as n from pgboss.job
      where name = 'evals.judge' and data->>'org_id' = ${orgId}`
    t.equal(jobs?.['n'], 0)
    t.match((await upload(file)).body, { dry_run: false, imported_count: 1 })
  })

  t.test('a dry run into a new project answers as one would and creates none', async (t) => {
    const { upload, get, post, orgId, key } = await open()
    const file = jsonl([{ agent_name: 'a', trace_id: '1' }])
    await upload(file)
    const names = async () => {
      const { body } = await service.client(key).get('/projects')
      return (body.projects as { name: string }[]).map(({ name }) => name)
    }
    const { body } = await upload(file, '?dry_run=true&project=later')
    t.match(body, { status: 'succeeded', project_id: null, imported_count: 1, skipped_count: 0 })
    t.match((await get(`/import/${body.id}`)).body, { id: body.id, project_id: null })
    t.equal((await get(`/jobs/${body.job_id}`)).status, 200)
    t.same(await names(), ['default'])
    const { body: audit } = await get('/changelog?types=audit')
    t.same(audit.events, [])

    const there = await upload(file, '?dry_run=true&project=default')
    t.match(there.body, { project_id: String, imported_count: 0, skipped_count: 1 })
    t.equal((await upload(file, `?dry_run=true&project=${randomUUID()}`)).status, 404)
    t.equal((await upload(file, '?dry_run=true&project=')).status, 400)

    const workspace = await post('/workspaces', { name: 'apart' })
    await post('/projects', { name: 'theirs', workspace_id: workspace.body.id })
    const theirs = await makeTestKey(sql, orgId, {
      scope: 'workspace',
      permissions: 'write',
      workspace_id: workspace.body.id,
    })
    const client = service.client(theirs.raw)
    const answer = await client.call('POST', '/import/jsonl?dry_run=true&project=new', file, LINES)
    t.match(answer.body, { status: 'succeeded', project_id: null, imported_count: 1 })
    t.same((await names()).sort(), ['default', 'theirs'])

    t.match((await upload(file, '?project=later')).body, { project_id: String, imported_count: 1 })
    t.ok((await names()).includes('later'))
  })

  t.test('a dry run into a workspace without a project answers as one would', async (t) => {
    const { upload, post, orgId } = await open()
    const workspace = await post('/workspaces', { name: 'empty' })
    const scope = { scope: 'workspace', workspace_id: workspace.body.id } as const
    const openWorkspace = async () => {
      const { raw } = await makeTestKey(sql, orgId, { ...scope, permissions: 'write' })
      return service.client(raw)
    }
    const mine = await openWorkspace()
    const theirs = await openWorkspace()
    const file = jsonl([{ agent_name: 'a', trace_id: '1' }])
    await upload(file)
    const answer = await mine.call('POST', '/import/jsonl?dry_run=true', file, LINES)
    t.match(answer, { status: 200, body: { project_id: null, imported_count: 1 } })
    const { id, job_id } = answer.body as { id: string; job_id: string }
    const seenBy = async (client: typeof mine) => [
      (await client.get(`/import/${id}`)).status,
      (await client.get(`/jobs/${job_id}`)).status,
      (await client.get('/import')).body.total,
      (await client.get('/jobs')).body.total,
    ]
    t.same(await seenBy(mine), [200, 200, 1, 1])
    t.same(await seenBy(theirs), [404, 404, 0, 0])
    t.match((await mine.get('/projects')).body, { projects: [] })
  })

  t.test('traces may come in the request', async (t) => {
    const { post, errors } = await open()
    const traces = [{ agent_name: 'a' }, { agent_name: 'a', trace_id: '' }, 7]
    const { status, body } = await post('/import/traces', { traces })
    t.match({ status, ...body }, { status: 'succeeded', imported_count: 1, error_count: 2 })
    t.same(await errors(body.id), [
      [2, 'invalid_record'],
      [3, 'not_an_object'],
    ])
    t.match(await post('/import/traces', { traces: {} }), {
      status: 422,
      body: { details: { errors: [{ field: 'body.traces' }] } },
    })
    t.equal((await post('/import/traces', '{"traces":')).status, 400)
  })

  t.test('what is asked for wrongly is refused before anything is stored', async (t) => {
    const { upload } = await open()
    const refused = async (query: string, headers?: Record<string, string>) =>
      (await upload('{}', query, headers)).status
    t.equal(await refused('?source=csv'), 422)
    t.equal(await refused('?dry_run=perhaps'), 422)
    t.equal(await refused('?agent_name=%00'), 422)
    t.equal(await refused('', { 'content-type': 'image/png' }), 400)
    t.equal(await refused('', { ...LINES, 'content-encoding': 'br' }), 400)
    const length = String(6 * 2 ** 30)
    t.equal(await refused('', { ...LINES, 'content-length': length }), 413)
    t.same(await uploads(), [])
  })

  t.test('imports are listed newest first and seen only by whose they are', async (t) => {
    const { upload, get, post, orgId, projectId, workspaceId } = await open()
    const ids: string[] = []
    for (const project of ['', '?project=other', '']) {
      ids.unshift((await upload('{"agent_name":"a"}', project)).body.id)
    }
    const list = await get('/import?limit=2')
    t.same(
      list.body.imports.map(({ id }: { id: string }) => id),
      ids.slice(0, 2),
    )
    t.equal(list.body.total, 3)
    const rest = await get(`/import?limit=2&cursor=${list.body.next_cursor}`)
    t.match(rest.body, { imports: [{ id: ids[2] }], next_cursor: null })
    t.equal((await get('/import?project=other')).body.total, 1)
    t.match(await post(`/import/${ids[0]}/cancel`), { status: 409 })

    const keyed = async (scope: 'project' | 'global', permissions: 'read' | 'admin') => {
      const within = scope === 'project' ? { workspace_id: workspaceId, project_id: projectId } : {}
      return service.client((await makeTestKey(sql, orgId, { scope, permissions, ...within })).raw)
    }
    const inProject = await keyed('project', 'admin')
    t.equal((await inProject.get('/import')).body.total, 2)
    t.equal((await inProject.call('POST', '/import/jsonl?project=other', '{}', LINES)).status, 403)
    const reader = await keyed('global', 'read')
    t.equal((await reader.call('POST', '/import/jsonl', '{}', LINES)).status, 403)

    const stranger = await open()
    const unknown = '00000000-0000-7000-8000-000000000000'
    for (const rest of ['', '/errors', '/cancel']) {
      const method = rest === '/cancel' ? 'POST' : 'GET'
      const [theirs, nobodys] = await Promise.all(
        [ids[0], unknown].map((id) => stranger.call(method, `/import/${id}${rest}`)),
      )
      t.equal(theirs?.status, 404)
      t.equal(theirs?.body.detail, nobodys?.body.detail)
    }
    t.match(await inProject.get(`/import/${ids[1]}`), { status: 404 })
  })

  t.test('without a row there is no upload left', async (t) => {
    const { upload, get } = await open()
    await sql`alter table imports add constraint broken check (source <> 'tau_bench') not valid`
    t.teardown(() => sql`alter table imports drop constraint broken`)
    t.equal((await upload('{}', '?source=tau_bench')).status, 500)
    t.same(await uploads(), [])
    t.equal((await get('/jobs')).body.total, 0)
  })
})
