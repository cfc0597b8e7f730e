import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { hashBody } from '../../../jobs/rules/skills/skill.ts'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { importTracesHandler } from '../../../workers/import/import-traces.ts'
import { scoreSkillHandler } from '../../../workers/skills/score-skill.ts'
import { sweepSkillsHandler } from '../../../workers/skills/sweep-skills.ts'
import { openImports } from '../../support/imports.ts'
import { makeSkill, publishSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

const BODY = 'Look up the order first.'

t.test('the score of a skill follows what clients send', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  const { queue } = context
  const imports = openImports(t, service)
  await service.startWorkers([judgeTracesHandler, scoreSkillHandler, importTracesHandler])
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const skill = await makeSkill(sql, org.orgId, { name: 'orders' }, [{ body: BODY }])
  await publishSkill(sql, skill)

  const traceOf = (id: string) => ({
    id,
    agent_name: 'support',
    user_input_preview: id,
    final_output_preview: 'It is on its way.',
    active_skills: [{ name: 'orders', hash: hashBody(BODY).toString('hex') }],
    scores: { reward: 1 },
    llm_calls: [
      {
        rendered_input: [{ role: 'user', content: `Where is order ${id}?` }],
        output: { role: 'assistant', content: 'It is on its way.' },
      },
    ],
  })
  /** What the registry shows once a sweep has seen that. */
  const shown = (is: object) =>
    until(async () => {
      await queue.transaction(sql, (tx: Transaction) =>
        sweepSkillsHandler.work({}, { ...context, now: () => new Date() } as never, tx),
      )
      const [row] = await sql`
        select tier, live::float8, rating::float8, bench::float8, score::float8, rating_count
        from registry_skills where skill_id = ${skill.id}`
      return Object.entries(is).every(([name, value]) => row?.[name] === value) && row
    })

  t.test('traces that are sent and those that are imported', async (t) => {
    await client.post('/traces', traceOf('sent'))
    t.match(await shown({ live: 0.2065 }), { tier: 1 })
    const line = Buffer.from(`${JSON.stringify(traceOf('imported'))}\n`)
    const { ended } = await imports.submit(line, '', org)
    t.match(await ended(), { imported_count: 1 })
    t.match(await shown({ live: 0.3424 }), { tier: 1 })
  })

  t.test('a rating, with what the service says of prompt and trace', async () => {
    const { body: config } = await client.get('/traces/skill-rater/config')
    const { body: trace } = await client.get('/traces/sent')
    const rating = {
      name: 'skill_rating',
      source: 'llm_judge',
      value: 0.75,
      metadata: {
        rater_model: 'large-2',
        rater_version: '1',
        prompt_sha256: config.prompt_sha256,
        rated_at: '2026-01-01T00:00:00Z',
        trace_hash: trace.content_hash,
        skill_version_id: skill.versionIds[0],
      },
    }
    await client.post('/traces/sent/eval-scores', { scores: [rating] })
    await shown({ rating_count: 1, rating: 0.1179 })
  })

  t.test('a benchmark', async (t) => {
    const cases = Array.from({ length: 10 }, (_, i) => ({
      case_id: `c${i}`,
      with: 'passed',
      without: 'failed',
    }))
    const { status } = await client.post('/skills/orders/benchmarks', {
      suite: 'orders',
      suite_sha256: 'ab'.repeat(32),
      runner: 'runner 1',
      run_at: new Date().toISOString(),
      cases,
    })
    t.equal(status, 201)
    await shown({ bench: 0.7225 })
  })
})
