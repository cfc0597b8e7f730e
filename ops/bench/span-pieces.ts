import type { MadeTrace } from './made-traces.ts'
import { modelCalls } from './model-calls.ts'
import type { Calls, ModelCall } from './model-calls.ts'

/**
 * What makes the pieces of a run as Langfuse exports them: its calls of the model, its tools, its root, its
 * scores.
 */
export const PIECES: readonly ((trace: MadeTrace, calls: Calls) => object[])[] = [
  callsOf,
  toolsOf,
  rootOf,
  scoresOf,
]

/** The calls of the model, each with its whole conversation. */
function callsOf(trace: MadeTrace, calls: Calls) {
  return modelCalls(trace, calls).map((call, index) => {
    const { input_tokens: input, output_tokens: output } = call
    return {
      ...observationOf(trace, callId(index), 'GENERATION', 'call model', call),
      parentObservationId: idOf(trace, 'root'),
      input: { messages: call.input, tools: trace.tools },
      output: call.output,
      model: 'gpt-4.1',
      usageDetails: { input, output, total: input + output },
      costDetails: { total: call.cost_usd },
    }
  })
}

/** What the model called; the answers are in the conversation. */
function toolsOf(trace: MadeTrace, calls: Calls) {
  return modelCalls(trace, calls).flatMap((call, index) => {
    // The one call that is recorded of a run stands for all of them.
    const messages = calls === 'last' ? [...call.input, call.output] : [call.output]
    const called = messages.flatMap(({ tool_calls = [] }) => tool_calls)
    return called.map(({ id, function: { name, arguments: given } }) => ({
      ...observationOf(trace, id, 'TOOL', 'call tool', call),
      parentObservationId: idOf(trace, callId(index)),
      input: given,
      metadata: { tool_name: name, tool_call_id: id },
    }))
  })
}

function rootOf(trace: MadeTrace) {
  const { agent_name, session_id, task_id, manifest_hash, status, metadata } = trace
  return [
    {
      ...observationOf(trace, 'root', 'AGENT', 'run', { from: 0, to: 1 }),
      level: status === 'error' ? 'ERROR' : 'DEFAULT',
      metadata: { ...metadata, agent_name, task_id, manifest_hash },
      sessionId: session_id,
    },
  ]
}

function scoresOf(trace: MadeTrace) {
  return Object.entries(trace.scores).map(([name, value]) => ({
    id: idOf(trace, name),
    traceId: trace.trace_id,
    name,
    value,
    dataType: 'NUMERIC',
    source: 'API',
    timestamp: trace.started_at,
  }))
}

function observationOf(
  trace: MadeTrace,
  id: string,
  type: string,
  name: string,
  { from, to }: Pick<ModelCall, 'from' | 'to'>,
) {
  const { trace_id, started_at, duration_ms } = trace
  const timeAt = (part: number) =>
    new Date(Date.parse(started_at) + Math.floor(part * duration_ms)).toISOString()
  return {
    id: idOf(trace, id),
    traceId: trace_id,
    type,
    name,
    startTime: timeAt(from),
    endTime: timeAt(to),
    level: 'DEFAULT',
  }
}

function callId(index: number) {
  return index === 0 ? 'call' : `call-${index}`
}

function idOf({ trace_id }: MadeTrace, name: string) {
  return `${trace_id.slice(0, 16)}-${name}`
}
