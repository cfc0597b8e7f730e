import { randomUUID } from 'node:crypto'
import t from 'tap'
import type { ServerInjectOptions } from '@hapi/hapi'
import { leastValue } from '../support/document.ts'
import type { Described, Document, Schema } from '../support/document.ts'
import { makeSamples } from '../support/resources.ts'
import { makeTestKey, openService } from '../support/service.ts'
import type { Service } from '../support/service.ts'

t.test('what belongs to another', async (t) => {
  const service = await openService(t)
  const owner = await service.makeOrganization()
  const samples = await makeSamples(service, owner)
  const stranger = await service.makeOrganization()
  const colleagues = await makeColleagues(service, owner)
  const { payload } = await service.server.inject({ url: '/openapi.json' })
  const document = JSON.parse(payload) as Document
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, described]) => ({ path, method, described })),
  )
  const before = await fingerprint(service, owner.orgId)

  /** An operation asked with these ids wherever it takes one; its answer without what names the request. */
  async function ask(
    key: string,
    operation: Operation,
    ids: Readonly<Record<string, string>>,
    more: object = {},
  ) {
    const { path, method, described } = operation
    const schema = described.requestBody?.content['application/json']?.schema
    const { statusCode, payload } = await service.server.inject({
      method: method.toUpperCase(),
      url: path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
        encodeURIComponent(ids[name] as string),
      ),
      headers: { authorization: `Bearer ${key}`, prefer: 'respond-async' },
      ...(schema && { payload: withMore(BODIES[path] ?? withIds(document, schema, ids), more) }),
    } as ServerInjectOptions)
    let text = payload.replace(/"request_id":"[^"]*"/, '')
    for (const [name, id] of Object.entries(ids)) text = text.replaceAll(id, `<${name}>`)
    return { status: statusCode, text }
  }

  const named = operations.filter(({ path }) => /\{(?!processor)/.test(path))
  t.ok(named.length > 20, `${named.length} operations name a resource`)

  for (const operation of named) {
    const { path, method } = operation
    t.test(`${method.toUpperCase()} ${path} is not there for others`, async (t) => {
      for (const name of path.matchAll(/\{(\w+)\}/g)) {
        t.ok(samples[name[1] as string], `test/support/resources.ts makes a ${name[1]}`)
      }
      const callers = { 'another organization': stranger.key, ...colleagues }
      for (const [who, key] of Object.entries(callers)) {
        if (who !== 'another organization' && isOfOrganization(path)) continue
        const foreign = await ask(key, operation, samples)
        const missing = await ask(key, operation, randomIds(samples))
        t.same(foreign, missing, `for ${who} it answers as what does not exist`)
        if (!path.includes('{agent_name}')) t.match(foreign.status, /^40[34]$/, who)
      }
    })
  }

  t.test('is not reached through bodies either', async (t) => {
    const ids: Record<string, string> = {
      ...samples,
      workspace_id: owner.workspaceId,
      project_id: owner.projectId,
    }
    const other = await service.makeOrganization()
    const bodied = operations.filter(
      ({ described, path }) => described.requestBody && !path.includes('{processor}'),
    )
    // The id of a new trace is whoever's that stores it.
    const { trace_id: _, ...others } = ids
    for (const operation of bodied) {
      const named = operation.path === '/api/v1/traces' ? others : ids
      const foreign = await ask(stranger.key, operation, named)
      const missing = await ask(other.key, operation, randomIds(named))
      t.same(foreign.status, missing.status, `${operation.method} ${operation.path}`)
    }
  })

  t.test('is not taken by naming its organization or ids', async (t) => {
    const forged = {
      org_id: owner.orgId,
      created_by: samples['key_id'],
      created_at: '2001-01-01T00:00:00Z',
      plan: 'enterprise',
      current: 0,
    }
    for (const operation of operations.filter(({ described }) => described.requestBody)) {
      const { status, text } = await ask(stranger.key, operation, randomIds(samples), forged)
      const about = `${operation.method} ${operation.path}: ${status}`
      t.notMatch(text, owner.orgId, about)
      t.notMatch(text, '2001-01-01', about)
    }
    const usage = await service.client(stranger.key).get('/auth/me')
    t.match(usage.body, { org: { id: stranger.orgId } })
  })

  t.test('is as it was after all that', async (t) => {
    t.same(await fingerprint(service, owner.orgId), before)
  })

  t.test('may have the same names in two organizations', async (t) => {
    const theirs = await makeSamples(service, stranger)
    t.equal(theirs['trace_id'], samples['trace_id'])
    t.not(theirs['manifest_id'], samples['manifest_id'])
    const { body } = await service.client(stranger.key).get(`/traces/${theirs['trace_id']}`)
    t.equal(body.project_id, stranger.projectId)
    t.same(await fingerprint(service, owner.orgId), before)
  })
})

/** Keys of the same organization for another project of the same workspace and for another workspace. */
async function makeColleagues(service: Service, { orgId, key, workspaceId }: Owner) {
  const { post } = service.client(key)
  const elsewhere = await post('/workspaces', { name: 'elsewhere' })
  const beside = await post('/projects', { name: 'beside', workspace_id: workspaceId })
  const workspace = await makeTestKey(service.sql, orgId, {
    scope: 'workspace',
    permissions: 'admin',
    workspace_id: elsewhere.body.id,
  })
  const project = await makeTestKey(service.sql, orgId, {
    scope: 'project',
    permissions: 'admin',
    workspace_id: workspaceId,
    project_id: beside.body.id,
  })
  return { 'another workspace': workspace.raw, 'another project': project.raw }
}

/** Of operations that want more than their schema can say. */
const BODIES: Readonly<Record<string, object>> = {
  '/api/v1/traces/{trace_id}/annotations': { rating: 5 },
  '/api/v1/skills/{skill_name}/attachments': { path: 'a', content: '' },
  '/api/v1/skills/{skill_name}/attachments/bulk': { files: [{ path: 'a', content: '' }] },
  '/api/v1/skills/{skill_name}/benchmarks': {
    suite: 'a',
    suite_sha256: '0'.repeat(64),
    runner: 'a',
    run_at: '2026-01-01T00:00:00Z',
    cases: [{ case_id: 'a', with: 'passed', without: 'passed' }],
  },
  '/api/v1/traces/{trace_id}/eval-scores': { source: 'custom', scores: [{ name: 'x', score: 1 }] },
}

/** A body of what is required, and the ids wherever one fits. */
function withIds(document: Document, schema: Schema, ids: Readonly<Record<string, string>>) {
  const body = leastValue(document, schema)
  const members = schema.$ref ? document.components.schemas[schema.$ref.slice(21)] : schema
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  const placed = Object.keys(members?.properties ?? {}).flatMap((name) => {
    const id = ids[name.replace(/^(old|new|candidate|baseline|source|target)_/, '')]
    if (id !== undefined && name !== 'agent_name') return [[name, id]]
    return name === 'trace_ids' ? [[name, [ids['trace_id']]]] : []
  })
  return { ...body, ...Object.fromEntries(placed) }
}

function withMore(body: unknown, more: object) {
  const isObject = typeof body === 'object' && body !== null && !Array.isArray(body)
  return isObject ? { ...body, ...more } : body
}

function randomIds(ids: Readonly<Record<string, string>>) {
  return Object.fromEntries(Object.keys(ids).map((name) => [name, randomUUID()]))
}

/** Keys, notifications and skills belong to the organization as a whole. */
function isOfOrganization(path: string) {
  return /\/(api-keys|org|skills|registry)\b/.test(path)
}

/** A hash of every row an organization has, table by table. */
async function fingerprint({ sql }: Service, orgId: string) {
  const tables = await sql<{ name: string }[]>`
    select table_name as name from information_schema.columns
    where table_schema = 'public' and column_name = 'org_id'
      and table_name not in ('rate_buckets', 'organization_buckets', 'idempotency_keys')
    order by table_name`
  const hashes = await Promise.all(
    tables.map(async ({ name }) => {
      const [row] = await sql`
        select count(*)::int as rows, md5(string_agg(t::text, ',' order by t::text)) as hash
        from ${sql(name)} t where org_id = ${orgId}`
      return [name, row]
    }),
  )
  return Object.fromEntries(hashes) as object
}

interface Owner {
  readonly orgId: string
  readonly key: string
  readonly workspaceId: string
}

interface Operation {
  readonly path: string
  readonly method: string
  readonly described: Described
}
