import t from 'tap'
import { readOutput } from '../../../../jobs/rules/replay/recorded-output.ts'
import { traceOf } from '../../../support/manifests.ts'

const LONG = 'answer '.repeat(1000)
const conversation = (last: string) => [
  { role: 'user', content: 'hello' },
  { role: 'assistant', content: last },
]

t.test('the output of a call is told whole', async (t) => {
  t.equal(readOutput(traceOf([], { llm_calls: [{ output: { content: LONG } }] })), LONG)
})

t.test('so is the last message of a conversation that was recorded as an input', async (t) => {
  const calls = (last: string) => [{ rendered_input: conversation(last) }]
  t.equal(readOutput(traceOf([], { llm_calls: calls(LONG) })), LONG)
  t.equal(readOutput(traceOf([], { llm_calls: calls('done') })), 'done')
})

t.test('a preview that no message continues is all that is known', async (t) => {
  const final_output_preview = 'x'.repeat(2000)
  const llm_calls = [{ rendered_input: conversation('another answer') }]
  t.equal(readOutput(traceOf([], { final_output_preview, llm_calls })), final_output_preview)
  t.equal(readOutput(traceOf([], { final_output_preview: 'said' })), 'said')
  t.equal(readOutput(traceOf([], { llm_calls: [] })), null)
})
