import t from 'tap'
import { createHash, randomUUIDv7 } from 'node:crypto'
import { readTrace } from '../../../jobs/rules/traces/read-trace.ts'
import { toTraceRow } from '../../../jobs/rules/traces/trace-row.ts'
import type { Queryable } from '../../../sql/core/db.ts'
import { countTracesUsing } from '../../../sql/manifests/manifest-activations.ts'
import { insertTraces } from '../../../sql/traces/trace-inserts.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const tool = (name: string, properties: object = {}) => ({
  component_type: 'tool',
  component_name: name,
  schema_json: { input_schema: { type: 'object', properties } },
})
const prompt = (content: string) => ({ type: 'prompt', name: 'system', content })
const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

t.test('manifests', async (t) => {
  const service = await openService(t)
  const { sql } = service

  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    return {
      org,
      client,
      register: (components: object[], more: object = {}) =>
        client.post('/manifests', { agent_name: 'support', components, ...more }),
      async statuses() {
        const { body } = await client.get('/manifests?agent_name=support')
        return body.manifests.map((m: Shown) => `${m.version_label} ${m.status}`)
      },
      async events() {
        const rows = await sql<{ body: Buffer }[]>`
          select body from deliveries where org_id = ${org.orgId} order by created_at, id`
        return rows.map(({ body }) => JSON.parse(body.toString()).data)
      },
      hearEvents: () =>
        client.patch('/org/notifications', { webhook_url: 'https://hooks.example.com/x' }),
      async store(traces: object[]) {
        const rows = traces.map((trace) => {
          const given = { agent_name: 'support', ...trace }
          const read = readTrace(given, { traceId: randomUUIDv7, now: new Date() })
          if (!('trace' in read)) throw new Error(JSON.stringify(read.faults))
          return {
            ...toTraceRow(read.trace, 'shared'),
            org_id: org.orgId,
            project_id: org.projectId,
          }
        })
        await insertTraces(sql, rows)
        return rows.map(({ trace_id }) => trace_id)
      },
    }
  }

  t.test('a first version is active, a later one a draft after the active one', async (t) => {
    const { register, statuses, client } = await setup()
    const first = await register([tool('a')], { version_label: 'release 7' })
    t.match(first, {
      status: 201,
      body: {
        status: 'ok',
        version_label: 'v1',
        is_new: true,
        action: 'created',
        components: 1,
        parent_manifest_id: null,
        compatibility_report_id: null,
        ignored_component_changes: [],
        manifest_hash: /^sha256:[0-9a-f]{64}$/,
      },
    })
    for (const name of ['b', 'c']) {
      const later = await register([tool(name)])
      t.match(later, {
        status: 201,
        body: { parent_manifest_id: first.body.manifest_id, compatibility_report_id: null },
      })
    }
    t.same(await statuses(), ['v3 draft', 'v2 draft', 'v1 active'])
    t.match((await register([tool('b')])).body, { action: 'deduped', version_label: 'v2' })
    t.same(await statuses(), ['v3 draft', 'v2 draft', 'v1 active'])
    const shown = await client.get(`/manifests/${first.body.manifest_id}`)
    t.match(shown.body, {
      id: first.body.manifest_id,
      display_label: 'release 7',
      status: 'active',
      is_closed_world: false,
      components: [{ component_type: 'tool', component_name: 'a', content_hash: /^sha256:/ }],
    })
  })

  t.test('a version that is asked to be active supersedes the one before', async (t) => {
    const { register, statuses } = await setup()
    await register([tool('a')])
    const second = await register([tool('b')], { activate: true })
    t.ok(second.body.compatibility_report_id)
    t.same(await statuses(), ['v2 active', 'v1 superseded'])
    await register([tool('c')])
    t.match(
      (await register([tool('c')], { activate: true })).body,
      { action: 'deduped', version_label: 'v3' },
      'it was never active before',
    )
    t.same(await statuses(), ['v3 active', 'v2 superseded', 'v1 superseded'])
  })

  t.test('the same again is the same, whatever the order of components', async (t) => {
    const { register, statuses } = await setup()
    const first = await register([tool('a'), tool('b')])
    t.match(await register([tool('b'), tool('a')]), {
      status: 200,
      body: { is_new: false, action: 'deduped', manifest_id: first.body.manifest_id },
    })
    t.same(await statuses(), ['v1 active'])
  })

  t.test(
    'an edited prompt is the same version, and the answer says what was ignored',
    async (t) => {
      const { register, client } = await setup()
      const first = await register([tool('a'), prompt('be nice')])
      const again = await register([tool('a'), prompt('be brief'), { type: 'skill', name: 's' }])
      t.match(again.body, {
        action: 'deduped',
        components: 2,
        ignored_component_changes: [
          { component_type: 'prompt', component_name: 'system' },
          { component_type: 'skill', component_name: 's' },
        ],
      })
      const shown = await client.get(`/manifests/${first.body.manifest_id}`)
      t.equal(shown.body.components[0].schema_json.content, 'be nice')
    },
  )

  t.test('a hash of the client is the identity, and comes back as it was sent', async (t) => {
    const { register, client } = await setup()
    const bare = hashOf('x')
    const first = await register([tool('a')], { manifest_hash: bare })
    t.equal(first.body.manifest_hash, bare)
    const prefixed = await register([tool('b')], { manifest_hash: `sha256:${bare}` })
    t.match(prefixed.body, {
      action: 'deduped',
      manifest_hash: `sha256:${bare}`,
      manifest_id: first.body.manifest_id,
      ignored_component_changes: [],
    })
    t.equal((await client.get(`/manifests/${first.body.manifest_id}`)).body.manifest_hash, bare)
    t.match(await register([], { manifest_hash: 'abc' }), {
      status: 422,
      body: { details: { errors: [{ field: 'body.manifest_hash' }] } },
    })
  })

  t.test('the same again is the same, however the hashes of components are written', async (t) => {
    const digits = hashOf('content')
    const forms = [digits, `sha256:${digits}`, digits.toUpperCase()]
    const kinds = (content_hash: string) => [
      { ...tool('a'), content_hash },
      { type: 'model', name: 'large-2', content_hash },
    ]
    for (const first of forms.slice(0, 2)) {
      const { register, statuses } = await setup()
      for (const form of [first, ...forms]) {
        t.match((await register(kinds(form))).body, { ignored_component_changes: [] })
      }
      t.same(await statuses(), ['v1 active'])
      await register(kinds(hashOf('other')))
      t.same(await statuses(), ['v2 draft', 'v1 active'])
    }
  })

  t.test('components are needed, but for a version that is known by its hash', async (t) => {
    const { register, statuses } = await setup()
    const manifest_hash = hashOf('known')
    for (const more of [{}, { manifest_hash }, { manifest_hash, activate: true }]) {
      t.match(await register([], more), {
        status: 422,
        body: { details: { errors: [{ field: 'body.components', message: /^is required/ }] } },
      })
    }
    t.same(await statuses(), [])
    const first = await register([tool('a')], { manifest_hash })
    const { manifest_id } = first.body
    const again = { manifest_hash: `sha256:${manifest_hash}`, components: undefined }
    t.match(await register([], again), { status: 200, body: { action: 'deduped', manifest_id } })
    await register([tool('b')], { activate: true })
    t.match(await register([], again), { body: { action: 'reactivated', manifest_id } })
    t.match((await register([], again)).body, { components: 1, ignored_component_changes: [] })
    t.same(await statuses(), ['v2 superseded', 'v1 active'])
  })

  t.test('a hash of an older version makes that one active again, without an event', async (t) => {
    const { register, statuses, events, hearEvents } = await setup()
    await hearEvents()
    const first = await register([tool('a')])
    const second = await register([tool('b')], { activate: true })
    for (const more of [{ draft: true }, { activate: false }, { detection_source: 'draft' }]) {
      t.match((await register([tool('a')], more)).body, { action: 'deduped' })
    }
    t.same(await statuses(), ['v2 active', 'v1 superseded'], 'unless registered as a draft')
    t.match(await register([tool('a')]), {
      status: 200,
      body: { is_new: false, action: 'reactivated', manifest_id: first.body.manifest_id },
    })
    t.same(await statuses(), ['v2 superseded', 'v1 active'])
    t.same(await events(), [
      {
        agent_name: 'support',
        version_label: 'v1',
        previous_version_label: null,
        manifest_id: first.body.manifest_id,
        status: 'active',
        traces_affected: 0,
      },
      {
        agent_name: 'support',
        version_label: 'v2',
        previous_version_label: 'v1',
        manifest_id: second.body.manifest_id,
        status: 'active',
        traces_affected: 0,
      },
    ])
  })

  t.test('a draft is told when it is registered, and not when it is activated', async (t) => {
    const { register, statuses, events, hearEvents, client } = await setup()
    await hearEvents()
    await register([tool('a')])
    const { body } = await register([tool('b')])
    t.match(await events(), [
      { version_label: 'v1', status: 'active' },
      { version_label: 'v2', previous_version_label: 'v1', status: 'draft' },
    ])
    const path = `/manifests/${body.manifest_id}/activate`
    t.match(await client.post(path), {
      status: 200,
      body: { status: 'active', version_label: 'v2', compatibility_report_id: String },
    })
    t.same(await statuses(), ['v2 active', 'v1 superseded'])
    t.match(await client.post(path), { body: { status: 'active', compatibility_report_id: null } })
    t.equal((await events()).length, 2)
    const { body: changelog } = await client.get('/changelog?types=manifest')
    t.match(changelog.events, [
      { event_type: 'manifest.activated', data: { version_label: 'v2' } },
      { event_type: 'manifest.registered', data: { version_label: 'v2', status: 'draft' } },
      { event_type: 'manifest.registered', data: { version_label: 'v1', status: 'active' } },
    ])
    t.equal(changelog.events.length, 3)
  })

  t.test('a first version that is registered as a draft is one', async (t) => {
    const { register, statuses, client } = await setup()
    const first = await client.post('/manifests?draft=true', {
      agent_name: 'support',
      components: [tool('a')],
    })
    const second = await register([tool('b')])
    t.equal(second.body.parent_manifest_id, first.body.manifest_id)
    t.same(await statuses(), ['v2 draft', 'v1 draft'])
  })

  t.test('traces that named the hash before are tied to the version', async (t) => {
    const { register, store, client, org } = await setup()
    const digits = hashOf('later')
    const [bare, prefixed, other] = await store([
      { manifest_hash: digits },
      { manifest_hash: `sha256:${digits}` },
      { manifest_hash: digits, agent_name: 'somebody else' },
    ])
    const { body } = await register([tool('a')], { manifest_hash: digits })
    const rows = await sql<{ trace_id: string; manifest_id: string | null }[]>`
      select trace_id, manifest_id from traces where org_id = ${org.orgId}`
    const links = new Map(rows.map((row) => [row.trace_id, row.manifest_id]))
    t.equal(links.get(bare as string), body.manifest_id)
    t.equal(links.get(prefixed as string), body.manifest_id)
    t.equal(links.get(other as string), null)
    const listed = await client.get('/manifests')
    t.equal(listed.body.manifests[0].traces_count, 2)
  })

  t.test('how many traces a change affects is told with the event', async (t) => {
    const { register, store, events, hearEvents } = await setup()
    await hearEvents()
    const { body } = await register([tool('a'), tool('b')])
    const calling = (tool_name: string) => ({
      manifest_id: body.manifest_id,
      llm_calls: [{ tool_calls: [{ tool_name, args: {} }] }],
    })
    await store([calling('a'), calling('a'), calling('b'), {}])
    await register([tool('b')])
    t.equal((await events()).at(-1).traces_affected, 2)
  })

  t.test(
    'of the traces of a version only the newest are read to tell that, and none in vain',
    async (t) => {
      const { org, register, store } = await setup()
      const { body } = await register([tool('a')])
      const minutesAgo = (n: number) => new Date(Date.now() - n * 60_000).toISOString()
      const calling = (tool_name: string, n: number, manifest: object) => ({
        ...manifest,
        started_at: minutesAgo(n),
        llm_calls: [{ tool_calls: [{ tool_name }] }],
      })
      const tied = { manifest_id: body.manifest_id }
      const untied = { manifest_hash: body.manifest_hash }
      await store([calling('a', 3, tied), calling('a', 2, untied), calling('b', 3, untied)])
      const agent = { ...org, agentName: 'support' }
      const count = (tools: string[], sql: Queryable = service.sql) =>
        countTracesUsing(sql, agent, body.manifest_id, {
          tools,
          skills: [],
          anyCall: false,
          since: new Date(0),
        })
      t.equal(await count(['a']), 2)
      const [newest] = await store([calling('c', 1, tied)])
      await sql`
      insert into traces select r.* from traces t, generate_series(2, 9999) n,
        jsonb_populate_record(t, jsonb_build_object('trace_id', n::text)) r
      where t.org_id = ${org.orgId} and t.trace_id = ${newest ?? ''}`
      t.equal(await count(['a']), 1)
      const unread = () => t.fail('is read')
      t.equal(await count([], unread as never), 0)
    },
  )

  t.test('30 registrations of one manifest at once make one version', async (t) => {
    const { register, statuses } = await setup()
    const answers = await Promise.all(Array.from({ length: 30 }, () => register([tool('a')])))
    t.equal(answers.filter(({ status }) => status === 201).length, 1)
    t.equal(new Set(answers.map(({ body }) => body.manifest_id)).size, 1)
    t.same(await statuses(), ['v1 active'])
  })

  t.test('30 registrations of different manifests at once keep one order', async (t) => {
    const { register, client } = await setup()
    const names = Array.from({ length: 30 }, (_, i) => `t${i}`)
    await Promise.all(names.map((name) => register([tool(name)], { activate: true })))
    const { body } = await client.get('/manifests?agent_name=support')
    const newestFirst: Shown[] = body.manifests
    t.same(
      newestFirst.map(({ version_label }) => version_label),
      Array.from({ length: 30 }, (_, i) => `v${30 - i}`),
    )
    t.equal(newestFirst[0]?.status, 'active')
    t.equal(newestFirst.filter(({ status }) => status === 'superseded').length, 29)
    newestFirst.slice(0, -1).forEach(({ parent_manifest_id }, i) => {
      t.equal(parent_manifest_id, newestFirst[i + 1]?.manifest_id)
    })
    const seen: string[] = []
    for (let path = '/manifests?limit=7'; path;) {
      const page = await client.get(path)
      seen.push(...page.body.manifests.map(({ id }: Shown) => id))
      path = page.body.next_cursor && `/manifests?limit=7&cursor=${page.body.next_cursor}`
    }
    t.same(
      seen,
      newestFirst.map(({ id }) => id),
      'by cursor without a loss or a double',
    )
  })

  t.test('the difference is against the version before, or a named one', async (t) => {
    const { register, client } = await setup()
    const first = (await register([tool('a', { x: { type: 'integer' } })])).body.manifest_id
    const second = (await register([tool('a', { x: { type: 'string' } })])).body.manifest_id
    t.match((await client.get(`/manifests/${second}/diff`)).body, {
      diff: {
        old_manifest_id: first,
        new_manifest_id: second,
        changed_surfaces: [
          {
            surface: 'tools',
            change_type: 'breaking',
            details:
              'Tool a: tool schema changed (arguments /x type narrowed, arguments /x type widened).',
            kind: 'tool_schema_changed',
            severity: 'moderate',
            detail: [{ change: 'type_narrowed', path: '/x' }, { change: 'type_widened' }],
            component_type: 'tool',
            component_name: 'a',
          },
        ],
        summary: {
          breaking_surfaces: 1,
          non_breaking_surfaces: 0,
          max_severity: 'moderate',
          changed: 1,
          added: 0,
        },
      },
    })
    t.match((await client.get(`/manifests/${first}/diff`)).body, { diff: null, message: String })
    t.match((await client.get(`/manifests/${first}/diff?against=${first}`)).body, {
      diff: null,
      verdict: 'self_comparison',
    })
    const other = await client.post('/manifests', { agent_name: 'b', components: [tool('a')] })
    const against = `/manifests/${first}/diff?against=${other.body.manifest_id}`
    t.equal((await client.get(against)).status, 400)
  })

  t.test('all faults of a registration are listed', async (t) => {
    const { client } = await setup()
    const { status, body } = await client.post('/manifests', {
      components: [{ type: 'cog', name: 'a' }, { type: 'tool' }],
      is_closed_world: 'yes',
    })
    t.equal(status, 422)
    t.same(
      body.details.errors.map(({ field }: { field: string }) => field),
      [
        'body.components.0.type',
        'body.components.1.component_name',
        'body.agent_name',
        'body.is_closed_world',
      ],
    )
  })

  t.test('of others look as if they were not there', async (t) => {
    const [mine, theirs] = [await setup(), await setup()]
    const { body } = await mine.register([tool('a')])
    await mine.client.post('/manifests', {
      agent_name: 'x',
      components: [tool('a')],
      project: 'second',
    })
    const scoped = await makeTestKey(sql, mine.org.orgId, {
      scope: 'project',
      permissions: 'admin',
      workspace_id: mine.org.workspaceId,
      project_id: mine.org.projectId,
    })
    t.equal((await service.client(scoped.raw).get('/manifests')).body.total, 1)
    t.equal((await mine.client.get('/manifests')).body.total, 2)
    for (const path of ['', '/diff', '/compatibility']) {
      const foreign = await theirs.client.get(`/manifests/${body.manifest_id}${path}`)
      const missing = await theirs.client.get(`/manifests/${randomUUIDv7()}${path}`)
      t.equal(foreign.status, 404, path)
      t.same({ ...foreign.body, request_id: 0 }, { ...missing.body, request_id: 0 })
    }
    for (const path of ['/activate', '/compatibility/run']) {
      const old = { old_manifest_id: body.manifest_id }
      const foreign = await theirs.client.post(`/manifests/${body.manifest_id}${path}`, old)
      t.equal(foreign.status, 404, path)
    }
  })
})

interface Shown {
  id: string
  manifest_id: string
  version_label: string
  status: string
  parent_manifest_id: string | null
}
