import t from 'tap'
import { judgeReplayability } from '../../../../jobs/rules/replay/replayability.ts'
import { recorded } from '../../../support/recorded-trace.ts'

const asked = { rendered_input: [{ role: 'user', content: 'Where is order 42?' }] }
const call = { tool_name: 'find_order', args: { id: 42 } }
const long = 'x'.repeat(5000)

const cases: Record<string, { given: object; is: readonly [string, string | null] }> = {
  'a conversation without tools': { given: { llm_calls: [asked] }, is: ['full', null] },
  'a tool call with its result': {
    given: { llm_calls: [{ ...asked, tool_calls: [{ ...call, result: 'sent' }] }] },
    is: ['full', null],
  },
  'a tool call without its result': {
    given: { llm_calls: [{ ...asked, tool_calls: [call] }] },
    is: ['partial', null],
  },
  'a result that only a message of the next call tells': {
    given: {
      llm_calls: [
        { ...asked, tool_calls: [{ ...call, id: 'c1' }] },
        {
          rendered_input: [
            ...asked.rendered_input,
            { role: 'tool', tool_call_id: 'c1', content: 'sent' },
          ],
        },
      ],
    },
    is: ['full', null],
  },
  'a call of another agent without its result': {
    given: { llm_calls: [asked, { agent_name: 'helper', tool_calls: [call] }] },
    is: ['full', null],
  },
  'a tool span without its result': {
    given: {
      user_input_preview: 'Hello',
      spans: [{ id: 's', span_type: 'tool', name: 'find_order' }],
    },
    is: ['partial', null],
  },
  'a preview that is whole': { given: { user_input_preview: 'Hello' }, is: ['full', null] },
  'a preview that was cut': { given: { user_input_preview: long }, is: ['partial', null] },
  'a long request that an LLM call has whole': {
    given: { llm_calls: [{ rendered_input: [{ role: 'user', content: long }] }] },
    is: ['full', null],
  },
  'a trace that runs': {
    given: { llm_calls: [asked], status: 'running' },
    is: ['none', 'running'],
  },
  'a trace that says nothing of the user': {
    given: { llm_calls: [{ rendered_input: [{ role: 'system', content: 'Help.' }] }] },
    is: ['none', 'no_user_input'],
  },
  'a trace marked by its metadata': {
    given: { llm_calls: [asked], metadata: { replayable: false } },
    is: ['none', 'not_replayable'],
  },
  'a trace marked by a tag': {
    given: { llm_calls: [asked], tags: ['not_replayable'] },
    is: ['none', 'not_replayable'],
  },
}

for (const [name, { given, is }] of Object.entries(cases)) {
  const [replayability, reason] = is
  t.test(`${name} is ${replayability}`, async (t) => {
    t.same(judgeReplayability(recorded(given)), { replayability, reason })
  })
}
