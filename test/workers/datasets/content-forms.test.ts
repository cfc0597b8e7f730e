import t from 'tap'
import type { ContentForm } from '../../../jobs/rules/traces/content.ts'
import { buildDataset, openDatasetService, pathOf } from '../../support/built-dataset.ts'
import { storeJudged } from '../../support/stored-traces.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'

const FIND = { type: 'function', function: { name: 'find', parameters: { type: 'object' } } }

t.test(
  'datasets and exports have the same bytes in whichever form traces are stored',
  async (t) => {
    const { service } = await openDatasetService(t)
    const { sql } = service
    async function read(form: ContentForm) {
      const org = await service.makeOrganization()
      await storeJudged(sql, org, TRACES, form)
      const [marks] = await sql`
      select array_agg(distinct get_byte(content, 0)) as first from traces where org_id = ${org.orgId}`
      t.same(marks?.['first'], [form === 'whole' ? 0x28 : 1])
      const api = service.client(org.key)
      const versions = await Promise.all(
        (['sft', 'kto', 'dpo'] as const).map(async (type) => {
          const version = await buildDataset(api, type, {
            options: { dedupe: 'none' },
          })
          const { row_count: rows, content_hash: hash, dropped_counts: dropped } = version
          t.ok(rows > 0, `${type} has rows`)
          return { rows, hash, dropped, lines: (await api.get(`${pathOf(version)}/export`)).body }
        }),
      )
      const shown = await api.get('/traces/t1?fields=spans,llm_calls')
      const prompts = await api.get('/replay/export?verdict=keep')
      return JSON.stringify({
        versions,
        shown: { spans: shown.body.spans, llm_calls: shown.body.llm_calls },
        prompts: prompts.body.prompts.map(({ user_input, original_output }: Prompt) => [
          user_input,
          original_output,
        ]),
      })
    }
    const [whole, shared] = [await read('whole'), await read('shared')]
    t.ok(whole.includes('answer 2 of 3'))
    t.equal(shared, whole)
  },
)

/** Agents that ask again and again with all that was said, two at each task. */
const TRACES: readonly JudgedTrace[] = Array.from({ length: 6 }, (_, n) => {
  const messages = [
    { role: 'system', content: 'Help “everybody”.' },
    { role: 'user', content: `question ${n >> 1}` },
    ...[0, 1, 2].flatMap((turn) => [
      { role: 'assistant', content: `answer ${turn} of ${n}` },
      { role: 'user', content: 'go on' },
    ]),
  ]
  return {
    trace_id: `t${n}`,
    task_id: `task ${n >> 1}`,
    quality: n % 2,
    started_at: `2026-01-01T00:00:0${n}Z`,
    llm_calls: [2, 4, 6].map((count) => ({
      rendered_input: messages.slice(0, count),
      output: messages[count],
      tools: [FIND],
    })),
  }
})

interface Prompt {
  readonly user_input: string
  readonly original_output: string
}
