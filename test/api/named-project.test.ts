import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import type { Test } from 'tap'
import { makeTestKey, openService } from '../support/service.ts'

t.test('a write names its project in its body or in its query', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const trace = (trace_id: string, more: object = {}) => ({ trace_id, agent_name: 'a', ...more })

  /** Sends the same twice, with the project in either place. */
  async function inEither(
    t: Test,
    send: (id: string, query: string, body: { project?: string }) => Promise<void>,
  ) {
    for (const [place, query, body] of [
      ['query', '?project=x', {}],
      ['body', '', { project: 'x' }],
      ['both', '?project=y', { project: 'x' }],
    ] as const) {
      t.comment(`in ${place}`)
      await send(randomUUIDv7(), query, body)
    }
  }

  /** A trace of each project by the same id; that of the default project is still running. */
  async function makeTwo(id: string) {
    await client.post('/traces', trace(id, { status: 'running' }))
    await client.post('/traces?project=x', trace(id))
  }

  const stored: Record<string, (id: string, project: { project?: string }) => [string, object]> = {
    trace: (id, project) => ['/traces', trace(id, project)],
    batch: (id, project) => ['/traces/batch', { traces: [trace(id)], ...project }],
  }
  for (const [what, request] of Object.entries(stored)) {
    t.test(`a ${what}`, async (t) =>
      inEither(t, async (id, query, project) => {
        const [path, body] = request(id, project)
        await client.post(`${path}${query}`, body)
        t.equal((await client.get(`/traces/${id}?project=x`)).status, 200)
        t.equal((await client.get(`/traces/${id}?project=default`)).status, 404)
      }),
    )
  }

  t.test('a trace of a batch has its own before that of the batch', async (t) => {
    const [one, other] = [randomUUIDv7(), randomUUIDv7()]
    const traces = [trace(one, { project: 'z' }), trace(other)]
    t.match((await client.post('/traces/batch', { traces, project: 'x' })).body, { count: 2 })
    t.equal((await client.get(`/traces/${one}?project=z`)).status, 200)
    t.equal((await client.get(`/traces/${other}?project=x`)).status, 200)
  })

  t.test('by the id that answers tell it by, alone and in a batch', async (t) => {
    const told = { name: 'told', workspace_id: org.workspaceId }
    const { id: project_id } = (await client.post('/projects', told)).body
    const [one, other] = [randomUUIDv7(), randomUUIDv7()]
    await client.post('/traces', trace(one, { project_id }))
    await client.post('/traces/batch', { traces: [trace(other, { project_id })] })
    for (const id of [one, other])
      t.match((await client.get(`/traces/${id}?project=told`)).body, { project_id })
    const { raw } = await makeTestKey(service.sql, org.orgId, {
      scope: 'project',
      permissions: 'write',
      workspace_id: org.workspaceId,
      project_id: org.projectId,
    })
    const foreign = trace(randomUUIDv7(), { project_id })
    t.equal((await service.client(raw).post('/traces', foreign)).status, 403)
  })

  t.test('an empty name in the body leaves that of the query', async (t) => {
    const ids = [randomUUIDv7(), randomUUIDv7(), randomUUIDv7()] as const
    await client.post('/traces?project=x', trace(ids[0], { project: '' }))
    await client.post('/traces/batch?project=x', { traces: [trace(ids[1], { project: '' })] })
    await client.post('/traces/batch?project=x', { traces: [trace(ids[2])], project: '' })
    for (const id of ids) t.equal((await client.get(`/traces/${id}?project=x`)).status, 200)
  })

  t.test('an empty name of a trace is none', async (t) => {
    const [one, other] = [randomUUIDv7(), randomUUIDv7()]
    await client.post('/traces', trace(one, { project: '' }))
    await client.post('/traces/batch', { traces: [trace(other)], project: '' })
    for (const id of [one, other])
      t.equal((await client.get(`/traces/${id}?project=default`)).status, 200)
  })

  const score = { name: 'solved', score: 1 }
  t.test('scores and annotations of a trace', async (t) =>
    inEither(t, async (id, query, project) => {
      await makeTwo(id)
      const pushed = { scores: [{ ...score, trace_id: id }], ...project }
      t.match((await client.post(`/eval-scores${query}`, pushed)).body, { stored: 1, errors: [] })
      const path = `/traces/${id}`
      await client.post(`${path}/eval-scores${query}`, {
        scores: [{ ...score, name: 'b' }],
        ...project,
      })
      await client.post(`${path}/annotations${query}`, { notes: 'seen', ...project })
      const { body } = await client.get(`${path}?project=x`)
      t.match(body.annotations, [{ notes: 'seen' }])
      const names = body.eval_scores.map(({ name }: { name: string }) => name)
      t.ok(names.includes('solved') && names.includes('b'))
    }),
  )

  t.test('what is decided of a trace', async (t) =>
    inEither(t, async (id, query, project) => {
      await makeTwo(id)
      for (const operation of ['decision', 'evaluate'])
        t.equal((await client.post(`/traces/${id}/${operation}${query}`, project)).status, 200)
    }),
  )

  t.test('a dataset', async (t) => {
    const { body } = await client.get('/projects')
    const x = body.projects.find(({ name }: { name: string }) => name === 'x')
    return inEither(t, async (name, query, project) => {
      const dataset = { name, dataset_type: 'sft', ...project }
      t.match(await client.post(`/datasets${query}`, dataset), {
        status: 201,
        body: { project_id: x.id },
      })
    })
  })

  t.test('an assignment of a skill', async (t) => {
    await client.post('/skills', { name: 'notes', body_markdown: '# Notes\n\nTake notes.' })
    return inEither(t, async (agent_name, query, project) => {
      const path = `/skills/notes/assign${query}`
      t.equal((await client.post(path, { agent_name, ...project })).status, 201)
      const named = await client.get('/skills/notes/subscriptions?project=x')
      t.ok(JSON.stringify(named.body).includes(agent_name))
      t.match((await client.delete(path, { agent_name, ...project })).body, { removed: true })
    })
  })

  t.test('one that is not there is refused', async (t) => {
    const paths: Record<string, object> = {
      '/replay/tasks/claim': { worker_id: 'w' },
      '/replay/link': { original_trace_id: 'a', replayed_trace_id: 'b' },
      '/agents/a/bisect': { metric: 'solved' },
    }
    for (const [path, body] of Object.entries(paths)) {
      const answers = [
        await client.post(`${path}?project=none`, body),
        await client.post(path, { ...body, project: 'none' }),
      ]
      for (const answer of answers)
        t.match(answer, { status: 404, body: { detail: /Project/ } }, path)
    }
  })
})
