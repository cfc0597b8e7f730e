import t from 'tap'
import { contentText, decodeContent } from '../../../../jobs/rules/traces/content.ts'
import {
  toTraceRow,
  toTraceRowInSteps,
  toTraceRowWithin,
} from '../../../../jobs/rules/traces/trace-row.ts'
import { recorded } from '../../../support/recorded-trace.ts'

for (const form of ['whole', 'shared'] as const) {
  t.test(`a row with a ${form} content is made in steps as it is at once`, async (t) => {
    for (const count of [0, 2, 1500]) {
      const trace = recorded({
        spans: Array.from({ length: count }, (_, i) => ({
          id: `s${i}`,
          name: `“${i}” ${'x'.repeat(200)}`,
        })),
        llm_calls: Array.from({ length: count }, (_, i) => ({ id: `c${i}`, output: `\0\n${i}` })),
      })
      let turns = 0
      const row = await toTraceRowInSteps(trace, { form, pause: async () => void turns++ })
      const { content, ...members } = toTraceRow(trace, form)
      t.same({ ...row, content: null }, { ...members, content: null })
      t.equal(contentText(decodeContent(row.content)), contentText(decodeContent(content)))
      t.ok(turns > 2 * count, `${turns} turns`)
    }
  })

  t.test(`a ${form} content is bounded by the characters of the whole one`, async (t) => {
    const prompt = [
      { role: 'system', content: '“Be kind”' },
      { role: 'user', content: 'Hi' },
    ]
    const llm_calls = [1, 2, 2].map((count, i) => ({
      rendered_input: prompt.slice(0, count),
      output: { content: `answer ${i}` },
      tools: [{ name: 'find' }],
    }))
    const trace = recorded({ spans: [{ id: 's', name: '“”' }], llm_calls })
    const { length } = contentText(trace)
    const pause = async () => undefined
    t.ok(await toTraceRowWithin(trace, { form, max: length, pause }))
    t.equal(await toTraceRowWithin(trace, { form, max: length - 1, pause }), undefined)
  })
}
