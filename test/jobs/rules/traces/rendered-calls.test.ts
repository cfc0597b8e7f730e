import t from 'tap'
import { factsOf } from '../../../../jobs/rules/traces/trace-facts.ts'
import { ownCalls, toolsUsed } from '../../../../jobs/rules/traces/trace-use.ts'
import { detectViolations, planDetection } from '../../../../jobs/rules/manifests/violations.ts'
import { readContract } from '../../../../jobs/rules/manifests/contract.ts'
import { manifest, tool, traceOf } from '../../../support/manifests.ts'

const asks = (name: string, id?: string, args = '{"q":"x"}') => ({
  role: 'assistant',
  tool_calls: [{ ...(id && { id }), type: 'function', function: { name, arguments: args } }],
})
const answers = (id: string, content: string) => ({ role: 'tool', tool_call_id: id, content })
const user = { role: 'user', content: 'hello' }
const ofCalls = (...llm_calls: object[]) => traceOf([], { llm_calls })
const namesOf = (trace: ReturnType<typeof traceOf>) =>
  toolsUsed(trace, ownCalls(trace)).map(({ tool }) => tool)

t.test('tool calls that stand only in the messages given to the last call', async (t) => {
  const rendered_input = [user, asks('search', 'c1'), answers('c1', 'found'), asks('refund')]

  t.test('count like those in tool_calls, in order and with their results', async (t) => {
    const trace = ofCalls(
      { rendered_input: [user], tool_calls: [{ tool_name: 'plan', id: 'p' }] },
      { rendered_input, output: asks('close', 'c2') },
    )
    t.match(toolsUsed(trace, ownCalls(trace)), [
      { tool: 'plan', position: 0 },
      { tool: 'search', position: 1, args: { q: 'x' }, result: 'found' },
      { tool: 'refund', position: 2, result: null },
      { tool: 'close', position: 3 },
    ])
    t.match(factsOf(trace), {
      tools_called: ['close', 'plan', 'refund', 'search'],
      // The outcome of the others is not known.
      tool_call_count: 2,
      tool_error_count: 0,
    })
  })

  t.test('are those that no call records, by id or where there is none by name', async (t) => {
    const last = { rendered_input }
    const recorded = (tool_calls: object[]) => namesOf(ofCalls({ tool_calls }, last))
    t.same(recorded([{ tool_name: 'search', id: 'c1' }]), ['search', 'refund'])
    t.same(recorded([{ tool_name: 'search', id: 'span-77' }]), ['search', 'refund'])
    t.same(recorded([{ tool_name: 'search' }]), ['search', 'refund'])
    t.same(recorded([{ tool_name: 'refund', id: 'c0' }]), ['refund', 'search'])
    t.same(recorded([{ tool_name: 'search' }, { tool_name: 'refund' }]), ['search', 'refund'])
    t.same(namesOf(ofCalls({ rendered_input, tool_calls: [{ tool_name: 'search', id: 'c1' }] })), [
      'refund',
      'search',
    ])
  })

  t.test('are those that were not there before the first of several calls', async (t) => {
    const history = [user, asks('search', 'c1'), answers('c1', 'found'), asks('lookup'), user]
    const turn = [...history, asks('search', 'c2'), asks('lookup')]
    const plan = { rendered_input: history }
    t.same(namesOf(ofCalls(plan, { rendered_input: history })), [])
    t.same(namesOf(ofCalls(plan, { rendered_input: turn })), ['search', 'lookup'])
    const next = { ...plan, tool_calls: [{ tool_name: 'search', id: 'c2' }] }
    t.same(namesOf(ofCalls(next, { rendered_input: turn })), ['search', 'lookup'])
    t.same(namesOf(ofCalls(plan)), ['search', 'lookup'], 'the only call tells all')
  })

  t.test('are not taken for another call of the same tool', async (t) => {
    const messages = [asks('search', 'c1'), asks('search', 'c2')]
    const recorded = { rendered_input: [user], tool_calls: [{ tool_name: 'search', id: 'c1' }] }
    t.same(namesOf(ofCalls(recorded, { rendered_input: messages })), ['search', 'search'])
    const output = asks('search', 'c3')
    t.same(namesOf(ofCalls({ rendered_input: messages, output })), ['search', 'search', 'search'])
  })

  t.test('of another agent’s calls, or of earlier ones, are not the agent’s', async (t) => {
    t.same(namesOf(ofCalls({ rendered_input }, { rendered_input: [user] })), [])
    t.same(namesOf(ofCalls({ rendered_input: [user] }, { rendered_input, agent_name: 'b' })), [])
  })

  t.test('go against their manifest', async (t) => {
    const contract = { ...readContract(manifest(tool('refund', {}))), closedWorld: true }
    const found = detectViolations(
      ofCalls({ rendered_input }),
      planDetection(contract, () => () => undefined),
    )
    t.match(found, [{ kind: 'tool_undeclared', subject: 'search', position: 0 }])
  })
})
