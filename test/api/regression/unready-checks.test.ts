import t from 'tap'
import type { Test } from 'tap'
import { registeredAgent } from '../../support/registered-agent.ts'
import { openService } from '../../support/service.ts'
import { checkRegressionHandler } from '../../../workers/regression/check-regression.ts'

const service = await openService(t)
const TOOLS = ['search', 'refund'].map((name) => ({ component_type: 'tool', component_name: name }))
const CI = { source: 'ci', pr_context: { repo: 'a/b', pr_number: 7 } }

t.test('a client that knows no 202 is told to ask again, and attaches', async (t) => {
  const { client, ask } = await open(t)
  const first = await impatiently(t, () => ask(CI))
  t.equal(first.status, 503)
  t.match(first.body, { code: 'still_running', detail: /ask again/, request_id: String })
  t.match(first.headers, {
    'retry-after': /^\d+$/,
    location: `/api/v1/jobs/${first.body.job_id}`,
  })
  const again = await impatiently(t, () => ask(CI))
  t.match(again.body, { job_id: first.body.job_id, id: first.body.id })
  t.equal(await charged(client), 1)
  const { body: shown } = await client.get(`/regression-check/${first.body.id}`)
  t.match(shown, { status: 'running', verdict: null })

  await complete(client, first.body.job_id)
  const done = await ask(CI)
  t.equal(done.status, 200)
  t.match(done.body, { id: first.body.id, job_id: first.body.job_id, verdict: 'first_run' })
  t.equal(await charged(client), 1, 'the report that was owed is given')
  const next = await ask(CI, { prefer: 'respond-async' })
  t.not(next.body.id, first.body.id, 'given once: the same request then is another check')
})

t.test('a repetition by key after a lost process attaches too', async (t) => {
  const { client, orgId, ask } = await open(t)
  const keyed = (headers?: object) => ask(CI, { 'idempotency-key': 'once', ...headers })
  const { body: first } = await keyed({ prefer: 'respond-async' })
  await loseProcess(orgId)
  t.match(await impatiently(t, keyed), {
    status: 503,
    body: { code: 'still_running', job_id: first.job_id },
  })
  t.equal(await charged(client), 1)
})

t.test('and gets the verdict of a check that is done meanwhile', async (t) => {
  for (const query of ['', '?dry_run=true']) {
    const { client, orgId, ask } = await open(t)
    const keyed = (headers?: object) => ask(CI, { 'idempotency-key': 'once', ...headers }, query)
    const { body: first } = await keyed({ prefer: 'respond-async' })
    await complete(client, first.job_id)
    await loseProcess(orgId)
    t.match(await keyed(), { status: 200, body: { verdict: 'first_run', id: first.id } })
    t.equal(await charged(client), query ? 0 : 1)
  }
})

t.test('a report that is owed is not given once the baseline is another version', async (t) => {
  const { client, register, propose } = await registeredAgent(service)
  await register(TOOLS)
  const candidate_manifest_id = await propose(TOOLS.slice(1))
  const ask = () => client.post('/regression-check', { agent_name: 'agent', candidate_manifest_id })
  const { body: owed } = await impatiently(t, ask)
  await complete(client, owed.job_id)
  const active = await register(TOOLS.slice(0, 1))
  const { body: today } = await impatiently(t, ask)
  t.not(today.id, owed.id)
  const { body: shown } = await client.get(`/regression-check/${today.id}`)
  t.equal(shown.baseline_manifest_id, active)
})

t.test('another request does not attach', async (t) => {
  const { ask } = await open(t)
  const asked = [CI, { ...CI, source: 'cli' }, { ...CI, trace_window_days: 7 }, { source: 'ci' }]
  const ids = new Set<string>()
  for (const more of asked) ids.add((await impatiently(t, () => ask(more))).body.id)
  t.equal(ids.size, asked.length)
})

t.test('requests at the same time are one check', async (t) => {
  const { client, ask } = await open(t)
  const answers = await impatiently(t, () => Promise.all(Array.from({ length: 8 }, () => ask(CI))))
  t.equal(new Set(answers.map(({ body }) => body.id)).size, 1)
  t.equal(await charged(client), 1)
})

t.test('202 is for those who prefer', async (t) => {
  const { ask } = await open(t)
  for (const prefer of ['respond-async', 'wait=0']) {
    const { status, body, headers } = await ask(CI, { prefer })
    t.equal(status, 202)
    t.match(headers, { 'preference-applied': prefer })
    t.match(body, { status: 'running', verdict: null })
  }
})

t.test('a dry run is waited for in the same way', async (t) => {
  const { client, ask } = await open(t)
  const dry = (headers?: Record<string, string>) => ask(CI, headers, '?dry_run=true')
  const first = await impatiently(t, dry)
  t.match(first, { status: 503, body: { code: 'still_running' } })
  t.notOk('id' in first.body)
  t.equal((await impatiently(t, dry)).body.job_id, first.body.job_id)
  await complete(client, first.body.job_id)
  t.match(await dry(), { status: 200, body: { verdict: 'first_run', job_id: null } })
  t.equal((await client.get(`/jobs/${first.body.job_id}`)).status, 404)
  t.equal(await charged(client), 0)
})

t.test('a check that failed is no report without a verdict either', async (t) => {
  const { client, ask } = await open(t)
  const first = await impatiently(t, () => ask(CI))
  await client.post(`/jobs/${first.body.job_id}/cancel`)
  const second = await impatiently(t, () => ask(CI))
  t.not(second.body.job_id, first.body.job_id, 'nobody attaches to what was cancelled')
  const failed = await impatiently(
    t,
    () => ask(CI),
    () => client.post(`/jobs/${second.body.job_id}/cancel`),
  )
  t.match(failed, { status: 503, body: { code: 'check_failed', id: second.body.id } })
})

t.test('a dry run that failed leaves its job for a look', async (t) => {
  const { client, ask } = await open(t)
  const dry = () => ask(CI, undefined, '?dry_run=true')
  const { body: first } = await impatiently(t, dry)
  const failed = await impatiently(t, dry, () => client.post(`/jobs/${first.job_id}/cancel`))
  t.match(failed, { status: 503, body: { code: 'check_failed', job_id: first.job_id } })
  t.match(await client.get(`/jobs/${first.job_id}`), { status: 200, body: { state: 'canceled' } })
})

t.test('null members of pr_context are absent, unknown ones are kept', async (t) => {
  const { ask } = await open(t)
  const sent = { repo: 'a/b', pr_number: null, branch: null, commit_sha: null, actor: null, run: 3 }
  const prefer = { prefer: 'respond-async' }
  t.same((await ask({ pr_context: sent }, prefer)).body.pr_context, { repo: 'a/b', run: 3 })
  const odd = { actor: '\ud800\0' }
  t.equal((await ask({ pr_context: odd }, prefer)).status, 202)
  const none = await ask({ pr_context: null, source: null }, prefer)
  t.match(none, { status: 202, body: { pr_context: null, source: null } })
  t.equal((await ask({ pr_context: { pr_number: 'x' } }, prefer)).status, 422)
})

async function open(_t: Test) {
  const { client, orgId, register } = await registeredAgent(service)
  const candidate_manifest_id = await register(TOOLS)
  const ask = (more: object, headers?: Record<string, string>, query = '') =>
    client.post(
      `/regression-check${query}`,
      { agent_name: 'agent', candidate_manifest_id, ...more },
      headers,
    )
  return { client, orgId, ask }
}

/** As if the process had died before it kept its answers, 30 seconds ago. */
async function loseProcess(orgId: string) {
  await service.sql`
    update idempotency_keys set status = null, headers = null, body = null,
      claimed_until = now() - interval '1 second'
    where org_id = ${orgId}`
}

/** As if the time that is waited for a check were over as soon as something has happened. */
async function impatiently<T>(
  t: Test,
  ask: () => Promise<T>,
  happen: () => Promise<unknown> = () => Promise.resolve(),
) {
  const { waiter } = service.context
  const wait = waiter.wait.bind(waiter)
  const value = async (org: string, id: string) => {
    await happen()
    return wait(org, id, 0)
  }
  const { restore } = t.intercept(waiter, 'wait', { value })
  try {
    return await ask()
  } finally {
    restore()
  }
}

async function complete(client: ReturnType<typeof service.client>, jobId: string) {
  const workers = await service.startWorkers([checkRegressionHandler])
  const { body } = await client.get(`/jobs/${jobId}?wait=30`)
  t.equal(body.state, 'succeeded')
  await workers.stop()
}

async function charged(client: ReturnType<typeof service.client>) {
  const { body } = await client.get('/usage')
  const metric = body.metrics.find(
    (each: { metric: string }) => each.metric === 'regression_checks',
  )
  return metric?.current ?? 0
}
