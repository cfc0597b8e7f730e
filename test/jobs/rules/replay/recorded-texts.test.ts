import t from 'tap'
import { needsContent, recordedTexts } from '../../../../jobs/rules/replay/recorded-texts.ts'
import { toTraceRow, decodeContent } from '../../../../jobs/rules/traces/trace-row.ts'
import { traceOf } from '../../../support/manifests.ts'

const long = (word: string) => `${word} `.repeat(1000)

t.test('short previews are the whole texts', async (t) => {
  const previews = { user_input_preview: 'asked', final_output_preview: null }
  t.notOk(needsContent(previews))
  t.same(recordedTexts(previews, undefined), { user_input: 'asked', original_output: null })
})

t.test('longer texts come from the messages', async (t) => {
  const trace = traceOf([], {
    user_input_preview: null,
    llm_calls: [
      {
        rendered_input: [
          { role: 'system', content: 'be kind' },
          { role: 'user', content: long('first') },
          { role: 'assistant', content: 'which one?' },
          { role: 'user', content: 'that one' },
        ],
        output: { content: long('last') },
      },
    ],
  })
  const { content, ...row } = toTraceRow(trace)
  t.ok(needsContent(row))
  t.same(recordedTexts(row, decodeContent(content)), {
    user_input: long('first'),
    original_output: long('last'),
  })
})

t.test('of a long text that no message holds, the preview is what there is', async (t) => {
  const { content, ...row } = toTraceRow(traceOf([], { user_input_preview: long('asked') }))
  const texts = recordedTexts(row, decodeContent(content))
  t.equal(texts.user_input, row.user_input_preview)
  t.equal(texts.user_input?.length, 2000)
  t.same(recordedTexts(row, undefined), texts, 'as where the content is gone')
})
