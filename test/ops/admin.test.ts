import { execFile } from 'node:child_process'
import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { isWellFormedKey } from '../../jobs/rules/access/api-key.ts'
import { adminCommand } from '../../ops/admin-command.ts'
import { openCommandPool, runCommandLine } from '../../ops/command-line.ts'
import { bareEnv } from '../support/bare-env.ts'
import { makeTestKey, openService } from '../support/service.ts'

t.test('the admin command line', async (t) => {
  const service = await openService(t)
  const env = { DATABASE_URL: service.url, DATA_DIR: service.config.DATA_DIR }
  /** In this process. */
  const admin = async (...args: string[]) => withPrinted(await runCommandLine(args, env))
  /** In a process of its own, as operators do. */
  const launch = (...args: string[]) => run(t, args, env)
  const org = (await launch('org', 'create', '--name', 'Acme', '--plan', 'pro')).printed

  t.test('org create makes an organization whose key works', async (t) => {
    t.match(org, { org_id: UUID, workspace_id: UUID, project_id: UUID })
    const me = await service.client(String(org['api_key'])).get('/api-keys')
    t.match(me, { status: 200, body: { api_keys: [{ scope: 'global', permissions: 'admin' }] } })
  })

  t.test('org set-plan changes the plan of an organization that exists', async (t) => {
    const set = await admin('org', 'set-plan', '--org', String(org['org_id']), '--plan', 'core')
    t.match(set, { code: 0, printed: { org_id: org['org_id'], plan: 'core' } })
    const none = await admin('org', 'set-plan', '--org', randomUUIDv7(), '--plan', 'core')
    t.match(none, { code: 1, stderr: /^There is no organization .*\n$/ })
  })

  t.test('org set-rate gives an enterprise organization more, or its plan again', async (t) => {
    const { printed } = await admin('org', 'create', '--name', 'Big', '--plan', 'enterprise')
    const id = String(printed['org_id'])
    const limit = async () => {
      const { headers } = await service.client(String(printed['api_key'])).get('/jobs')
      return headers['ratelimit-limit']
    }
    const more = await admin(
      'org',
      'set-rate',
      '--org',
      id,
      '--per-minute',
      '2000',
      '--burst',
      '400',
    )
    t.match(more, { code: 0, printed: { org_id: id, per_minute: 2000, burst: 400 } })
    t.equal(await limit(), '2000')
    t.match(await admin('org', 'set-rate', '--org', id), { code: 0, printed: { per_minute: null } })
    t.equal(await limit(), '1000')
    t.match(await admin('org', 'set-rate', '--org', id, '--burst', '400'), { code: 2 })
  })

  t.test('org list finds organizations by their name', async (t) => {
    const { printed } = await admin('org', 'create', '--name', 'Listed', '--plan', 'core')
    const { printed: found } = await admin('org', 'list', '--name', 'Listed')
    const listed = [{ org_id: printed['org_id'], name: 'Listed', plan: 'core' }]
    t.match(found, { organizations: listed })
    const { printed: all } = await admin('org', 'list')
    t.ok((all['organizations'] as object[]).length > 1)
  })

  t.test('org suspend refuses the keys of an organization until org resume', async (t) => {
    const { printed } = await admin('org', 'create', '--name', 'Late', '--plan', 'free')
    const id = String(printed['org_id'])
    const client = service.client(String(printed['api_key']))
    t.match(await admin('org', 'suspend', '--org', id), { printed: { suspended: true } })
    t.match(await client.get('/jobs'), { status: 401, body: { detail: 'Invalid API key' } })
    t.match(await admin('org', 'resume', '--org', id), { printed: { suspended: false } })
    t.equal((await client.get('/jobs')).status, 200)
  })

  t.test('org set-payment-customer binds a customer, and applies what came before', async (t) => {
    const [payer, other] = [await service.makeOrganization(), await service.makeOrganization()]
    const subscription = {
      id: 'sub_1',
      customer: 'cus_1',
      status: 'active',
      metadata: { plan: 'enterprise' },
    }
    await service.sql`
      insert into payment_events (id, type, created, livemode, ignored, payload)
      values ('evt_1', 'customer.subscription.created', 1, false, 'no_organization',
        ${JSON.stringify({ data: { object: subscription } })}::text::jsonb)`
    const set = (id: string, customer: string) =>
      admin('org', 'set-payment-customer', '--org', id, '--customer', customer)
    const bound = { org_id: payer.orgId, payment_customer_id: 'cus_1', applied_events: 1 }
    t.match(await set(payer.orgId, 'cus_1'), { code: 0, printed: bound })
    t.match((await service.client(payer.key).get('/billing')).body, { plan: 'enterprise' })
    t.match(await set(payer.orgId.toUpperCase(), 'cus_1'), { printed: { applied_events: 0 } })
    const taken = `The organization ${payer.orgId} has the customer cus_1.\n`
    t.match(await set(other.orgId, 'cus_1'), { code: 1, stderr: taken })
    t.match(await set(payer.orgId, 'cus_2'), { code: 0 })
    t.match(await set(other.orgId, 'cus_1'), { code: 0 })
    t.match(await set(randomUUIDv7(), 'cus_3'), { code: 1, stderr: /^There is no organization/ })
    const audited = await service.sql`
      select data->>'name' as name from audit_events
      where org_id = ${payer.orgId} and action = 'payment_customer.changed' order by id`
    t.match(audited, [{ name: 'cus_1' }, { name: 'cus_1' }, { name: 'cus_2' }])
  })

  t.test('org set-webhook-secret reads the secret where nobody else sees it', async (t) => {
    const set = ['org', 'set-webhook-secret', '--org', String(org['org_id'])]
    const isSet = { code: 0, stderr: '', printed: { signing_secret_configured: true } }
    t.match(await run(t, [...set, '--secret', '-'], env, 'whsec_of_input\n'), isSet)
    const secret = { WHSEC: 'whsec_of_variable' }
    t.match(await run(t, [...set, '--secret-env', 'WHSEC'], { ...env, ...secret }), isSet)
    const seen = await run(t, [...set, '--secret', 'whsec_of_words'], env)
    t.match(seen, { code: 0, stderr: /Other users .* --secret -/ })
    t.match(await run(t, [...set, '--secret', '-'], env, 'short'), {
      code: 1,
      stderr: /at least 8/,
    })
    t.match(await admin(...set, '--secret-env', 'NONE'), { code: 1, stderr: /required/ })
    t.match(await admin(...set), { code: 2, stderr: /at least one of/ })
  })

  t.test('key create makes no more keys than the plan allows', async (t) => {
    const { orgId } = await service.makeOrganization('free')
    const made = Array.from({ length: 9 }, () =>
      makeTestKey(service.sql, orgId, { scope: 'global', permissions: 'read' }),
    )
    await Promise.all(made)
    const refused = await admin('key', 'create', '--org', orgId)
    t.match(refused, { code: 1, stderr: /at most 10 live API keys: revoke one first\.\n$/ })
  })

  t.test('key create makes keys of each scope, key revoke ends them', async (t) => {
    const create = (...args: string[]) =>
      admin('key', 'create', '--org', String(org['org_id']), ...args)
    const project = await create(
      '--scope',
      'project',
      '--project',
      'default',
      '--permissions',
      'read',
    )
    t.match(project.printed, {
      scope: 'project',
      permissions: 'read',
      project_id: org['project_id'],
    })
    const client = service.client(String(project.printed['api_key']))
    t.equal((await client.get('/jobs')).status, 200)

    t.match(await create('--scope', 'workspace'), { code: 1, stderr: /needs --workspace/ })
    t.match(await create('--scope', 'project', '--project', randomUUIDv7()), { code: 1 })
    const elsewhere = await admin('key', 'create', '--org', randomUUIDv7())
    t.match(elsewhere, { code: 1, stderr: /There is no organization/ })

    const revoke = () => admin('key', 'revoke', String(project.printed['id']))
    t.match(await revoke(), { code: 0, printed: { revoked: true } })
    t.equal((await client.get('/jobs')).status, 401)
    t.match(await revoke(), { code: 1, stderr: /^There is no key/ })
    const audited = await service.sql`
      select action, actor_key_id from audit_events
      where resource_id = ${String(project.printed['id'])} order by id`
    t.match(audited, [
      { action: 'api_key.created', actor_key_id: null },
      { action: 'api_key.revoked', actor_key_id: null },
    ])
  })

  t.test('an option that is only said or not needs no value', async (t) => {
    const id = String(org['org_id'])
    const limit = ['queue', 'limit', 'import.run', '--org', id]
    t.match(await admin(...limit, '--pause', '--reason', 'too much'), { printed: { paused: true } })
    t.match(await admin(...limit, '--pause', 'false'), { code: 1, stderr: /--max-running N, or/ })
    t.match(await admin('dead-letters', 'redrive', 'import.run', '--dry-run'), {
      printed: { found: 0, dry_run: true },
    })
  })

  t.test('what is not a command gets the usage and exit code 2', async (t) => {
    for (const words of [
      [],
      ['org'],
      ['org', 'destroy'],
      ['org', 'create'],
      ['doctor', '--loud'],
    ]) {
      t.match(await admin(...words), { code: 2, stdout: '', stderr: /Usage:\n {2}(npx )?node ops/ })
    }
    t.match(await launch(), { code: 2, stdout: '', stderr: /^No command given\n\nUsage:/ })
    const plan = await admin('org', 'create', '--name', 'x', '--plan', 'gold')
    t.match(plan, { code: 2, stderr: /plan must be one of/ })
  })

  t.test('doctor tells what is wrong and what to do', async (t) => {
    t.match(await launch('doctor'), { code: 0, printed: { ok: true } })
    const sql = service.sql
    const { pathname } = new URL(service.url)
    await sql.unsafe(`alter database ${pathname.slice(1)} connection limit 20`)
    const narrow = await launch('doctor')
    await sql.unsafe(`alter database ${pathname.slice(1)} connection limit -1`)
    const detail = /hold \d+ connections .*api: 23.* admits 20\. Raise max_connections/
    t.match(failing(narrow.printed), [{ name: 'connections', detail }])
    await sql`
      delete from applied_migrations
      where number = (select max(number) from applied_migrations where serves < number)`
    const behind = await launch('doctor')
    t.match(behind, { code: 1, printed: { ok: false } })
    t.match(failing(behind.printed), [{ name: 'schema', detail: /node ops\/admin.ts migrate/ }])
  })

  t.test('doctor shows the months of traces and warns when the next one has no room', async (t) => {
    const { printed } = await launch('doctor')
    t.match(printed, { periods: [{ period: /-01$/, bytes: Number }, { period: /-01$/ }] })
    const [{ next }] = await service.sql<[{ next: string }]>`
      delete from trace_periods where period > now() returning period::text as next`
    const warning = new RegExp(`room of its own yet for the traces of ${next.slice(0, 7)}`)
    const warned = (await launch('doctor')).printed
    t.match(warned['checks'], [{}, {}, { name: 'periods', ok: true, warning }])
    await service.sql`insert into trace_periods (period) values (${next})`
  })

  t.test('recount puts right what was counted wrong', async (t) => {
    const { key } = await service.makeOrganization()
    const client = service.client(key)
    await client.post('/traces', { agent_name: 'a' })
    await service.sql`delete from trace_count_changes`
    t.match((await client.get('/traces/stats')).body, { total: 0 })
    const counted = { before: { traces: 0 }, after: { traces: 1, verdicts: 0, edges: 0 } }
    t.match(await admin('recount'), { code: 0, printed: counted })
    t.match((await client.get('/traces/stats')).body, { total: 1 })
  })

  t.test('migrate sets an empty database up', async (t) => {
    const { pathname } = new URL(service.url)
    const empty = `${pathname.slice(1)}_empty`
    await service.sql.unsafe(`create database ${empty}`)
    t.teardown(() => service.sql.unsafe(`drop database ${empty} with (force)`))
    const DATABASE_URL = service.url.replace(pathname, `/${empty}`)
    const create = ['org', 'create', '--name', 'x', '--plan', 'free']
    t.match(await run(t, create, { DATABASE_URL }), { code: 1, stderr: /admin.ts migrate\n$/ })
    const migrated = { code: 0, printed: { migrated: true, waiting: [] } }
    t.match(await run(t, ['migrate'], { DATABASE_URL }), migrated)
    t.match(await run(t, ['migrate', '--finish'], { DATABASE_URL }), migrated)
    t.match(await run(t, create, { DATABASE_URL }), { code: 0 })
  })

  t.test('a database that is not there is told in a sentence', async (t) => {
    const DATABASE_URL = 'postgres://nobody:secret@127.0.0.1:1/none'
    const migrate = await run(t, ['migrate'], { DATABASE_URL })
    t.match(migrate, { code: 1, stderr: 'The database at 127.0.0.1:1/none does not answer.\n' })
    const doctor = await run(t, ['doctor'], { DATABASE_URL })
    t.match(failing(doctor.printed), [{ name: 'database', detail: /does not answer/ }])
    const none = await runCommandLine(['doctor'], { DATA_DIR: t.testdir() })
    t.match(none, { code: 1, stderr: /^No database runs in .*\n$/ })
  })

  t.test('key make prints a key INIT_API_KEY accepts', async (t) => {
    const { printed } = withPrinted(await runCommandLine(['key', 'make'], {}))
    t.ok(isWellFormedKey('svc_', String(printed['api_key'])))
  })

  t.test('a statement of a command has its limit', async (t) => {
    const sql = await openCommandPool(service.url)
    t.teardown(() => sql.end({ timeout: 1 }))
    t.same(await sql`show statement_timeout`, [{ statement_timeout: '30s' }])
  })
})

const UUID = /^[0-9a-f-]{36}$/

function failing(report: Record<string, unknown>) {
  return (report['checks'] as { ok: boolean }[]).filter(({ ok }) => !ok)
}

/** @param input what it reads from standard input */
async function run(t: Test, args: string[], env: Record<string, string>, input = '') {
  const result = await new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
    const child = execFile(
      process.execPath,
      ['ops/admin.ts', ...args],
      { env: { ...bareEnv(), DATA_DIR: t.testdir(), ...env } },
      (_, stdout, stderr) => resolve({ code: child.exitCode ?? -1, stdout, stderr }),
    )
    child.stdin?.end(input)
  })
  return withPrinted(result)
}

function withPrinted<Result extends { stdout: string }>(result: Result) {
  const printed = result.stdout.startsWith('{') ? (JSON.parse(result.stdout) as object) : {}
  return { ...result, printed: printed as Record<string, unknown> }
}

t.test('a command is told as it can be typed here, whatever Node.js the machine has', async (t) => {
  t.equal(adminCommand('', '/srv/app/node_modules/node/bin/node'), 'npx node ops/admin.ts')
  t.equal(adminCommand('', 'C:\\app\\node_modules\\node\\bin\\node.exe'), 'npx node ops/admin.ts')
  t.equal(adminCommand('key make', '/usr/local/bin/node'), 'node ops/admin.ts key make')
})
