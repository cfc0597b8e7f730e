import t from 'tap'
import { makeTestKey, openService } from '../../service.ts'

t.test('the decision policy', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)

  t.test('is the default, version 0, until one is set', async (t) => {
    t.match(await client.get('/decision-policy'), {
      status: 200,
      body: {
        agent_name: null,
        version: 0,
        preset: 'default',
        thresholds: { keep_at: 0.7, drop_at: 0.4 },
        source_weights: { human: 1, verifier: 1, third_party: 0.7, custom: 0.4, builtin: 0.1 },
        on_doubt: 'review',
        content_hash: /^[0-9a-f]{64}$/,
        created_at: null,
      },
    })
    t.match((await client.get('/decision-policy/versions')).body, { versions: [], total: 0 })
  })

  t.test('gets a version with each change, and none without one', async (t) => {
    const first = await client.put('/decision-policy', { preset: 'strict' })
    t.match(first, {
      status: 200,
      body: { version: 1, preset: 'strict', thresholds: { keep_at: 0.8 } },
    })
    const same = await client.put('/decision-policy', { preset: 'strict' })
    t.same(same.body, first.body)
    const second = await client.put('/decision-policy', { thresholds: { keep_at: 0.9 } })
    t.match(second.body, {
      version: 2,
      preset: 'default',
      thresholds: { keep_at: 0.9, drop_at: 0.4 },
    })
    const own = await client.put('/decision-policy', {
      agent_name: 'a',
      preset: 'permissive',
      source_weights: { custom: 1 },
    })
    t.match(own.body, { version: 1, agent_name: 'a', source_weights: { custom: 1, human: 1 } })
    const { body } = await client.get('/decision-policy/versions')
    t.same(
      body.versions.map(({ version }: { version: number }) => version),
      [2, 1],
    )
    t.same(body.versions[0], second.body)
    t.match((await client.get('/decision-policy/versions?agent_name=a')).body, { total: 1 })
    t.same((await client.get('/decision-policy?agent_name=a')).body, own.body)
    t.same((await client.get('/decision-policy?agent_name=b')).body, second.body, "the project's")
  })

  t.test('gets versions without a gap when many set it at once', async (t) => {
    await Promise.all(
      Array.from({ length: 12 }, (_, i) =>
        client.put('/decision-policy', {
          agent_name: 'busy',
          thresholds: { keep_at: 0.5 + i / 100 },
        }),
      ),
    )
    const { body } = await client.get('/decision-policy/versions?agent_name=busy')
    t.same(
      body.versions.map(({ version }: { version: number }) => version),
      Array.from({ length: 12 }, (_, i) => 12 - i),
    )
  })

  t.test('decides from then on, and its version is named', async (t) => {
    const trace = { agent_name: 'judged', user_input_preview: 'x', final_output_preview: 'y' }
    await client.post('/traces', { ...trace, id: 'p', scores: { reward: 0.7 } })
    const before = (await client.post('/traces/p/decision')).body
    await client.put('/decision-policy', { agent_name: 'judged', thresholds: { keep_at: 0.71 } })
    const after = (await client.post('/traces/p/decision')).body
    t.match(before, {
      verdict: 'keep',
      needs_review: true,
      policy: { version: 2, agent_name: null },
    })
    t.match(after, {
      verdict: 'keep',
      needs_review: false,
      policy: { version: 1, agent_name: 'judged' },
    })
    await client.put('/decision-policy', {
      agent_name: 'judged',
      thresholds: { drop_at: 0.99, keep_at: 1 },
    })
    t.match(
      (await client.get('/traces/p/decision')).body,
      { policy: { version: 1 } },
      'not made again',
    )
    t.match((await client.post('/traces/p/decision')).body, {
      verdict: 'drop',
      policy: { version: 2 },
    })
  })

  t.test('is refused when it is none', async (t) => {
    const fieldsOf = async (body: object) => {
      const answer = await client.put('/decision-policy', body)
      t.equal(answer.status, 422)
      return answer.body.details.errors.map(({ field }: { field: string }) => field)
    }
    t.ok((await fieldsOf({ preset: 'lax' })).includes('body.preset'))
    t.same(await fieldsOf({ thresholds: { keep_at: 1.1, drop_at: -1 } }), [
      'body.thresholds.keep_at',
      'body.thresholds.drop_at',
    ])
    t.same(await fieldsOf({ source_weights: { human: 2, custom: 'x' } }), [
      'body.source_weights.human',
      'body.source_weights.custom',
    ])
    t.equal((await client.put('/decision-policy', { thresholds: { keep_at: 0.3 } })).status, 400)
  })

  t.test('belongs to its project', async (t) => {
    await client.put('/decision-policy?project=other', { preset: 'permissive' })
    t.match((await client.get('/decision-policy?project=other')).body, {
      version: 1,
      preset: 'permissive',
    })
    t.match((await client.get('/decision-policy')).body, { version: 2 })
    const made = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'write',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const scoped = service.client(made.raw)
    t.match((await scoped.get('/decision-policy')).body, { version: 2 })
    t.equal((await scoped.get('/decision-policy?project=other')).status, 403)
    t.equal((await scoped.put('/decision-policy', { project: 'other' })).status, 403)
    const stranger = service.client((await service.makeOrganization()).key)
    t.match((await stranger.get('/decision-policy')).body, { version: 0 })
  })
})
