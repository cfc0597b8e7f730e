import t from 'tap'
import { buildDatasetHandler } from '../../workers/datasets/build-dataset.ts'
import { makeAgent, openAgentService, toolComponent } from '../support/agents.ts'
import { buildVersion, readJsonl } from '../support/built-dataset.ts'
import type { Row } from '../support/built-dataset.ts'
import { until } from '../support/until.ts'

t.test('what people correct', async (t) => {
  const service = await openAgentService(t)
  await service.startWorkers([buildDatasetHandler])

  async function open() {
    const agent = await makeAgent(service)
    const { client, settled } = agent
    const datasetOf = async (dataset_type: string) =>
      (await client.post('/datasets', { name: dataset_type, dataset_type })).body.id as string
    const datasets = { sft: await datasetOf('sft'), dpo: await datasetOf('dpo') }
    return {
      ...agent,
      /** Stores a trace that is scored, with another conversation unless told. */
      async scored(score: number, more: object = {}) {
        const id = await agent.store([], { scores: { reward: score }, ...more })
        await settled()
        return id
      },
      /** Annotates a trace, and waits until it is judged by that. */
      async annotate(traceId: string, said: object) {
        const { status, body } = await client.post(`/traces/${traceId}/annotations`, said)
        t.match({ status, body }, { status: 201, body: { verdict_job_id: String } })
        const state = await until(async () => {
          const job = (await client.get(`/jobs/${body.verdict_job_id}?wait=30`)).body
          return job.finished_at && job.state
        })
        t.equal(state, 'succeeded')
        return body.id as string
      },
      async build(type: 'sft' | 'dpo') {
        const version = await buildVersion(client, datasets[type])
        return { rows: await readJsonl(client, version), ...version }
      },
    }
  }
  const tracesOf = (rows: readonly Row[]) => rows.map(({ provenance }) => provenance.trace_id)
  const withoutTime = ({ decided_at: _, ...decision }: { decided_at: string }) => decision

  t.test('is in the next versions, and not in those after it is withdrawn', async (t) => {
    const { client, scored, annotate, decision, build } = await open()
    const [good, bad] = [await scored(1), await scored(0)]
    const before = await decision(bad)
    t.match(before, { verdict: 'drop', reasons: [{ code: 'score.bad' }] })
    const [sft, dpo] = [await build('sft'), await build('dpo')]
    t.same(tracesOf(sft.rows), [good])
    t.same(tracesOf(dpo.rows), [])

    const annotation = await annotate(bad, { corrected_output: 'All is well' })
    t.match(await decision(bad), {
      verdict: 'repair',
      needs_review: false,
      eval_verdict: 'fail',
      quality_avg: before.quality_avg,
      counterfactual: 'drop if nobody had corrected the output',
      reasons: [
        {
          rule: 6,
          code: 'output.corrected',
          subject: annotation,
          message: 'A person wrote what the trace should have ended in',
        },
        { rule: 8, code: 'score.bad' },
      ],
    })
    const [learned, pairs] = [await build('sft'), await build('dpo')]
    const row = learned.rows.find(({ provenance }) => provenance.trace_id === bad)
    t.equal(learned.row_count, 2)
    t.match(row, {
      messages: [{ role: 'user' }, { role: 'assistant', content: 'All is well', weight: 1 }],
      provenance: { verdict: 'repair', repaired: true, annotation_id: annotation },
    })
    t.match(pairs.rows, [
      {
        chosen: [{ content: 'All is well' }],
        rejected: [{ content: 'done' }],
        provenance: { trace_id: bad, pair_source: 'correction', annotation_id: annotation },
      },
    ])

    await annotate(bad, { correction_withdrawn: true })
    t.same(withoutTime(await decision(bad)), withoutTime(before), 'all is as it was')
    const [sftAfter, dpoAfter] = [await build('sft'), await build('dpo')]
    t.equal(sftAfter.content_hash, sft.content_hash, 'the bytes of before')
    t.equal(dpoAfter.row_count, 0)
    t.same(
      (await client.get(`/traces/${bad}`)).body.annotations.map(
        (each: { corrected_output: unknown; correction_withdrawn: unknown }) => [
          each.corrected_output,
          each.correction_withdrawn,
        ],
      ),
      [
        [null, true],
        ['All is well', false],
      ],
    )
    await annotate(bad, { corrected_output: 'Still well' })
    t.equal((await build('sft')).row_count, 2, 'and corrected again')
  })

  t.test('of a copy makes it no copy, and leaves the other ones copies', async (t) => {
    const { annotate, decision, scored, settled } = await open()
    const said = (day: number) => ({
      llm_calls: [
        { rendered_input: [{ role: 'user', content: 'same' }], output: { content: 'x' } },
      ],
      started_at: `2026-01-0${day}T00:00:00Z`,
    })
    const [first, second, third] = [
      await scored(1, said(1)),
      await scored(1, said(2)),
      await scored(1, said(3)),
    ]
    const copyOfFirst = { verdict: 'drop', reasons: [{ code: 'duplicate.exact', subject: first }] }
    const storedCopies = async () => {
      const rows = await service.sql<{ trace_id: string; duplicate_of: string | null }[]>`
        select trace_id, duplicate_of from verdicts where trace_id in (${first}, ${second}, ${third})`
      return Object.fromEntries(rows.map((row) => [row.trace_id, row.duplicate_of]))
    }
    t.match(await decision(second), copyOfFirst)
    await annotate(second, { corrected_output: 'y' })
    t.match(await decision(second), {
      verdict: 'keep',
      reasons: [{}, { code: 'output.corrected' }],
    })
    const judgings = async () => {
      const [row] = await service.sql<[{ n: number }]>`
        select count(*)::int as n from pgboss.job
        where name = 'evals.judge' and data -> 'payload' -> 'trace_ids' ? ${second}`
      return row.n
    }
    const before = await judgings()
    t.ok(before > 0)
    await annotate(first, { rating: 5 })
    await settled()
    t.equal(await judgings(), before, 'the oldest no longer concerns it')
    t.match(await decision(second), { verdict: 'keep' }, 'also when the oldest is judged anew')
    t.match(await decision(third), copyOfFirst)
    t.same(await storedCopies(), { [first]: null, [second]: null, [third]: first })
    await annotate(second, { correction_withdrawn: true })
    t.match(await decision(second), copyOfFirst)
    t.same(await storedCopies(), { [first]: null, [second]: first, [third]: first })
  })

  t.test('of a trace whose tool is gone stays one to replay', async (t) => {
    const { annotate, decision, register, settled, store } = await open()
    const { manifest_id } = await register([toolComponent('refund'), toolComponent('find')])
    const id = await store([['refund', {}, 'paid']], { manifest_id, scores: { reward: 1 } })
    await settled()
    await register([toolComponent('find')])
    await settled()
    const before = await decision(id)
    t.equal(before.verdict, 'replay')
    await annotate(id, { corrected_output: 'All is well' })
    const after = await decision(id)
    t.equal(after.verdict, before.verdict)
    t.match(after.reasons[0], { code: before.reasons[0].code, rule: before.reasons[0].rule })
  })
})
