import t from 'tap'
import { openService } from '../../support/service.ts'

t.test('evaluators', async (t) => {
  const service = await openService(t)
  const client = service.client((await service.makeOrganization()).key)
  const ALWAYS_ON = ['completion', 'has_output', 'tool_compliance', 'latency', 'token_efficiency']
  const long = `${'x'.repeat(3000)} the end`

  async function scoresOf(id: string) {
    const { status, body } = await client.post(`/traces/${id}/evaluate`)
    t.equal(status, 200)
    const entries = body.scores.map(({ name, value }: { name: string; value: number }) => [
      name,
      value,
    ])
    return Object.fromEntries(entries)
  }

  t.test('that are always on are listed and score every trace', async (t) => {
    const { body } = await client.get('/evaluators')
    t.same(
      body.evaluators.map(({ name }: { name: string }) => name),
      ALWAYS_ON,
    )
    await client.post('/traces', {
      id: 'run',
      agent_name: 'a',
      llm_calls: [
        {
          rendered_input: [{ role: 'user', content: 'go' }],
          output: { content: long },
          tool_calls: [{ tool_name: 'x' }, { tool_name: 'y', status: 'error' }],
          output_tokens: 1000,
          latency_ms: 2500,
          cost_usd: 0.3,
        },
      ],
    })
    const row = { eval_type: 'deterministic', enabled: true, agent_name: null }
    t.match(body.evaluators[0], { id: 'completion', display_name: 'completion', ...row })
    t.same(await scoresOf('run'), {
      completion: 1,
      has_output: 1,
      latency: 0.75,
      token_efficiency: 0.8,
      tool_compliance: 0.5,
    })
  })

  t.test('that are added score with the others from then on', async (t) => {
    const add = async (body: object) => {
      const { status, body: added } = await client.post('/evaluators', body)
      t.equal(status, 201)
      return added
    }
    await add({ name: 'is_json', type: 'json_valid' })
    await add({
      name: 'says_end',
      type: 'contains',
      config: { text: 'THE END', case_sensitive: false },
    })
    await add({ name: 'ends', type: 'regex', config: { pattern: '(?i)x+ THE end$' } })
    await add({ name: 'asks', type: 'regex', config: { pattern: '\\?$' } })
    await add({ name: 'wide', type: 'regex', config: { pattern: 'x{240}' } })
    await add({ name: 'cheap', type: 'max_cost', config: { usd: 0.25 } })
    const short = await add({
      name: 'short',
      type: 'max_steps',
      config: { steps: 1 },
      agent_name: 'a',
    })
    await add({ name: 'short', type: 'max_steps', config: { steps: 0 } })
    await add({ name: 'other', type: 'json_valid', agent_name: 'b' })
    t.match(short, { id: String, agent_name: 'a', config: { steps: 1 }, project_id: String })
    t.match(await scoresOf('run'), {
      is_json: 0,
      says_end: 1,
      ends: 1,
      asks: 0,
      wide: null,
      cheap: 0,
      short: 1,
      completion: 1,
    })
    t.notOk('other' in (await scoresOf('run')))
    const { body } = await client.get('/traces/run/eval-breakdown')
    const verifiers = body.source_groups.filter(({ weight }: { weight: number }) => weight === 1)
    t.match(verifiers, [{ source: 'built_in', source_avg: 0.5 }], 'checks of the outcome weigh 1')
    t.equal(verifiers[0].scores.length, 4, 'those that could tell')

    t.equal((await client.delete(`/evaluators/${short.id}`)).status, 204)
    t.equal((await client.delete(`/evaluators/${short.id}`)).status, 404)
    t.match(await scoresOf('run'), { short: 0 }, 'that for all agents holds again')
  })

  t.test('are refused when they are none, or are there', async (t) => {
    const add = async (body: object) => (await client.post('/evaluators', body)).status
    t.equal(await add({ name: 'cheap', type: 'max_cost', config: { usd: 0.2 } }), 409)
    t.equal(await add({ name: 'cheap', eval_type: 'deterministic' }), 409)
    t.equal(await add({ name: 'completion', type: 'json_valid' }), 409)
    t.equal(await add({ name: 'x', type: 'contains' }), 422)
    t.equal(await add({ name: 'x', type: 'max_cost', config: { usd: 'much' } }), 422)
    t.equal(await add({ type: 'json_valid' }), 422)
    t.equal(await add({ name: 'x' }), 422)
    t.equal(await add({ name: 'x', type: 'json_valid', template_id: 'json_valid' }), 422)
    t.equal(await add({ template_id: 'nobody knows it' }), 404)
    t.equal(await add({ template_id: 'json_valid', name: 'latency' }), 409)
    t.equal(await add({ name: 'x', eval_type: 'llm_judge', threshold: 2 }), 422)
    const stranger = service.client((await service.makeOrganization()).key)
    const { body } = await client.get('/evaluators')
    const [mine] = body.evaluators.filter(({ name }: { name: string }) => !ALWAYS_ON.includes(name))
    t.equal((await stranger.delete(`/evaluators/${mine.id}`)).status, 404)
    t.equal((await stranger.get('/evaluators')).body.total, ALWAYS_ON.length)
    for (const unknown of [crypto.randomUUID(), 'no-uuid', '17', '%00']) {
      t.equal((await client.delete(`/evaluators/${unknown}`)).status, 404, unknown)
    }
    t.equal((await client.delete('/evaluators/latency')).status, 409, 'that is always on')
  })

  t.test('of clients say who scores and how, and nothing of theirs runs here', async (t) => {
    const org = await service.makeOrganization()
    const { get, post, delete: remove } = service.client(org.key)
    const judge = {
      name: 'helpfulness',
      eval_type: 'llm_judge',
      category: 'quality:llm_judge',
      prompt_template: 'Is {{output}} of help?',
      threshold: 0.8,
      display_name: 'Helpful',
      description: 'Of the answer',
      agent_name: 'a',
    }
    const { status, body } = await post('/evaluators', judge)
    t.match([status, body], [201, { id: String, type: 'external', enabled: true, ...judge }])
    t.match((await get('/evaluators')).body.evaluators.at(-1), body)
    const own = { name: 'exact', eval_type: 'deterministic', template_id: null, threshold: null }
    t.match(await post('/evaluators', own), {
      status: 201,
      body: {
        type: 'external',
        eval_type: 'deterministic',
        display_name: 'exact',
        threshold: null,
      },
    })
    t.match(await post('/evaluators', judge), { status: 200, body: { id: body.id } })
    t.equal((await post('/evaluators', { ...judge, threshold: 0.7 })).status, 409)
    await post('/traces', { id: 'judged', agent_name: 'a', final_output_preview: 'yes' })
    const { body: evaluated } = await post('/traces/judged/evaluate')
    t.equal(evaluated.scores.length, ALWAYS_ON.length)
    t.equal((await remove(`/evaluators/${body.id}`)).status, 204)
  })

  t.test('that are always on are there already for who adds them', async (t) => {
    for (const again of [{ template_id: 'latency' }, { name: 'latency', eval_type: 'llm_judge' }]) {
      t.match(await client.post('/evaluators', again), {
        status: 200,
        body: { id: 'latency', type: 'always_on', eval_type: 'deterministic' },
      })
    }
  })

  t.test('that are added again as they are stay the ones they were', async (t) => {
    const { post, get } = service.client((await service.makeOrganization()).key)
    const thanks = { template_id: 'contains', name: 'thanks', config: { text: 'thank' } }
    for (const added of [{ template_id: 'json_valid' }, thanks]) {
      const { status, body: first } = await post('/evaluators', added)
      t.equal(status, 201)
      const again = await post('/evaluators', { ...added, description: 'in other words' })
      t.match([again.status, again.body], [200, first])
    }
    t.equal((await post('/evaluators', { ...thanks, config: { text: 'x' } })).status, 409)
    t.equal((await post('/evaluators', { ...thanks, agent_name: 'a' })).status, 201)
    t.equal((await get('/evaluators')).body.total, ALWAYS_ON.length + 3)
  })

  t.test('are templates by their names too', async (t) => {
    const { post } = service.client((await service.makeOrganization()).key)
    t.match(await post('/evaluators', { name: 'json_valid', eval_type: 'deterministic' }), {
      status: 201,
      body: { name: 'json_valid', type: 'json_valid', category: 'output' },
    })
    t.match(await post('/evaluators', { name: 'max_steps', eval_type: 'llm_judge' }), {
      status: 201,
      body: { type: 'external' },
    })
    t.match(await post('/evaluators', { name: 'contains', eval_type: 'deterministic' }), {
      status: 422,
      body: { detail: 'body.config.text is required' },
    })
  })

  t.test('explain what they found of a trace', async (t) => {
    const org = await service.makeOrganization()
    const { post, delete: remove } = service.client(org.key)
    await post('/evaluators', { template_id: 'json_valid' })
    const { body: removed } = await post('/evaluators', { template_id: 'max_steps' })
    await post('/traces', { id: 'told', agent_name: 'a', final_output_preview: 'no JSON' })
    t.equal((await post('/traces/told/evaluate')).body.checks.length, 7)
    await remove(`/evaluators/${removed.id}`)
    const pushed = [{ name: 'pushed' }, { name: 'completion', identifier: 'by a client' }]
    await post('/traces/told/eval-scores', {
      scores: pushed.map((score) => ({ ...score, score: 1, source: 'builtin' })),
    })
    const { body } = await post('/traces/told/evaluate', { mode: 'deterministic' })
    t.same(
      body.checks.map(({ check, score, passed }: Check) => [check, score, passed]),
      [
        ['completion', 1, true],
        ['has_output', 1, true],
        ['json_valid', 0, false],
        ['latency', null, null],
        ['token_efficiency', null, null],
        ['tool_compliance', null, null],
      ],
    )
    t.equal(body.checks[2].detail, 'Failed: The final output is JSON')
    t.match(body.checks[3].detail, /^Not applicable: /)
    t.equal(body.scores.length, 6)
    t.match(await post('/traces/told/evaluate', { mode: 'llm_judge' }), {
      status: 501,
      body: { code: 'not_supported' },
    })
  })

  t.test('are refused with what is wrong with their pattern', async (t) => {
    const add = (pattern: unknown) =>
      client.post('/evaluators', { name: 'x', type: 'regex', config: { pattern } })
    const wrong = ['(a', '(?=a)', '\\1', '[{#label}', 'x{1000}', 'a\0', '\ud800', '', 7, undefined]
    for (const pattern of wrong) {
      const { status, body } = await add(pattern)
      t.equal(status, 422, String(pattern))
      t.match(body.details.errors, [{ field: 'body.config.pattern' }])
    }
    const { body } = await add('[{#label}')
    t.match(body.detail, 'missing closing ]: `[{#label}`')
    t.equal((await add(undefined)).body.detail, 'body.config.pattern is required')
  })

  t.test('are ten patterns a project at most', async (t) => {
    const org = await service.makeOrganization()
    const { post } = service.client(org.key)
    const add = (n: number, type: string, config: object) =>
      post('/evaluators', { name: `${n}`, type, config })
    for (let n = 0; n < 10; n++) {
      t.equal((await add(n, 'regex', { pattern: '(a+)+$' })).status, 201)
    }
    t.match(await add(10, 'regex', { pattern: 'a' }), {
      status: 400,
      body: { detail: /at most 10/ },
    })
    t.equal((await add(10, 'json_valid', {})).status, 201)
  })

  t.test('of clients are names that are registered once', async (t) => {
    const evaluators = [{ name: 'faithfulness', description: 'by us' }, { name: 'tone' }]
    t.match(await client.post('/evaluators/register', { evaluators }), {
      status: 200,
      body: { registered: ['faithfulness', 'tone'] },
    })
    const again = await client.post('/evaluators/register', { evaluators })
    t.same(again.body.registered, [])
    const { body } = await client.get('/evaluators')
    t.match(
      body.evaluators.find(({ name }: { name: string }) => name === 'tone'),
      { type: 'external', eval_type: 'custom', agent_name: null, display_name: 'tone' },
    )
    const builtIn = await client.post('/evaluators/register', { evaluators: [{ name: 'latency' }] })
    t.match(builtIn, { status: 200, body: { registered: [] } }, 'one that is always on is that one')
    t.equal((await client.post('/evaluators/register', { evaluators: [] })).status, 422)
  })

  t.test(
    'have templates, of which those run as they are that need not be told for what',
    async (t) => {
      const { body } = await client.get('/evaluators/templates')
      t.same(body.categories, {
        output: ['json_valid', 'contains', 'regex'],
        budget: ['max_cost', 'max_steps'],
      })
      for (const { type, example_config: config } of body.templates) {
        const made = await client.post('/evaluators', { name: `from ${type}`, type, config })
        t.equal(made.status, 201, type)
      }
      const { post } = service.client((await service.makeOrganization()).key)
      const asked = []
      for (const template of body.templates) {
        const { template_id, name, eval_type, category, type, config } = template
        const made = await post('/evaluators', { template_id, agent_name: null })
        if (made.status === 422) asked.push(made.body.detail)
        else {
          t.match(made, {
            status: 201,
            body: { name, eval_type, category, type, config, agent_name: null },
          })
        }
      }
      t.same(asked, ['body.config.text is required', 'body.config.pattern is required'])
      const other = { template_id: 'max_steps', name: 'brief', config: { steps: 2 } }
      t.match((await post('/evaluators', other)).body, { name: 'brief', config: { steps: 2 } })
    },
  )
})

interface Check {
  check: string
  score: number | null
  passed: boolean | null
}
