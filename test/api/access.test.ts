import { randomBytes, randomUUID } from 'node:crypto'
import t from 'tap'
import type { ServerInjectOptions } from '@hapi/hapi'
import { operations } from '../../api/routes.ts'
import { makeKey } from '../../jobs/rules/access/api-key.ts'
import { accessRows, PERMISSIONS, SCOPES } from '../../ops/docs/access-table.ts'
import type { Verdict } from '../../ops/docs/access-table.ts'
import { makeTestKey, openService } from '../support/service.ts'

t.test('who may call what is as the declarations say', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const rows = accessRows(operations)
  t.ok(rows.length > 50, `${rows.length} operations`)

  /** What the door said: whatever the operation itself finds wrong is behind it. */
  async function ask(
    method: string,
    path: string,
    headers: Record<string, string>,
  ): Promise<Verdict> {
    const { statusCode, payload } = await service.server.inject({
      method,
      url: path.replaceAll(/\{\w+\}/g, () => randomUUID()),
      headers: { prefer: 'respond-async', ...headers },
      ...(method !== 'GET' && { payload: {} }),
    } as ServerInjectOptions)
    if (statusCode === 401 || statusCode === 403) return statusCode
    if ([429, 500, 503].includes(statusCode)) throw new Error(`${method} ${path}: ${payload}`)
    return 'yes'
  }

  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const within = {
    global: {},
    workspace: { workspace_id: org.workspaceId },
    project: { workspace_id: org.workspaceId, project_id: org.projectId },
  }

  for (const scope of SCOPES) {
    for (const permissions of PERMISSIONS) {
      t.test(`for a ${scope} ${permissions} key`, async (t) => {
        const key = await makeTestKey(service.sql, org.orgId, {
          scope,
          permissions,
          ...within[scope],
        })
        for (const { method, path, withKey } of rows) {
          const expected = withKey[`${scope} ${permissions}`]
          t.equal(await ask(method, path, bearer(key.raw)), expected, `${method} ${path}`)
        }
      })
    }
  }

  const made = (key: Partial<Parameters<typeof makeTestKey>[2]>) =>
    makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'admin', ...key })
  const expired = await made({ expires_at: new Date(0) })
  const revoked = await made({})
  await service.sql`update api_keys set revoked_at = now() where id = ${revoked.id}`
  const late = await service.makeOrganization()
  await service.sql`update organizations set suspended_at = now() where id = ${late.orgId}`
  const without = {
    'no key': {},
    'a malformed key': bearer('svc_sk_x'),
    'a key nobody made': bearer(makeKey('svc_', randomBytes(64))),
    'an expired key': bearer(expired.raw),
    'a revoked key': bearer(revoked.raw),
    'a key of a suspended organization': bearer(late.key),
    'an ended session': { cookie: 'service_session=gone', 'sec-fetch-site': 'same-origin' },
    'a key in the query': {},
  }
  for (const [name, headers] of Object.entries(without)) {
    t.test(`for ${name}`, async (t) => {
      const query = name === 'a key in the query' ? `?api_key=${org.key}` : ''
      for (const { method, path, withoutKey } of rows) {
        t.equal(await ask(method, `${path}${query}`, headers), withoutKey, `${method} ${path}`)
      }
    })
  }
})
