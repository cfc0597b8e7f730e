import { readModel } from '../manifests/contract.ts'
import type { Component, Manifest } from '../manifests/manifest.ts'
import type { SurfaceChange } from '../manifests/surface-change.ts'
import { ownCalls } from '../traces/trace-use.ts'
import type { UsingTrace } from '../traces/trace-use.ts'

/** What asking another model the recorded questions came to, or why nobody asked. */
export interface CallReplay {
  status: 'ok' | 'no_model_change' | 'unsupported' | 'no_calls'
  message: string
  mode: 'mock' | 'real'
  provider: string | null
  target_model: string | null
  baseline_model: string | null
  /** A sentence about `traces`. */
  per_trace: string
  traces: { trace_id: string; replayed: number; errors: number }[]
  summary: {
    replayed: number
    equivalent: number
    changed: number
    errors: number
    samples: { trace_id: string; call_id: string; error: string | null }[]
  }
}

export interface ModelChange {
  readonly provider: string | null
  readonly target_model: string | null
  readonly baseline_model: string | null
}

/** The first model that is another one in the new manifest; undefined when none is. */
export function findModelChange(
  changes: readonly SurfaceChange[],
  before: Manifest,
  after: Manifest,
): ModelChange | undefined {
  const change = changes.find(
    ({ change_type, state }) => change_type === 'model_changed' && state !== 'doc_only',
  )
  if (!change) return undefined
  const { component_name: name, new_name, state } = change
  const old = state === 'added' ? undefined : find(before, name)
  const now = state === 'removed' ? undefined : find(after, new_name ?? name)
  return {
    provider: now ? readModel(now).provider : null,
    target_model: now ? readModel(now).model : null,
    baseline_model: old ? readModel(old).model : null,
  }
}

/** A replay that asked nobody. */
export function unreplayed(
  status: 'no_model_change' | 'unsupported' | 'no_calls',
  mode: CallReplay['mode'],
  model: ModelChange = { provider: null, target_model: null, baseline_model: null },
): CallReplay {
  const summary = { replayed: 0, equivalent: 0, changed: 0, errors: 0, samples: [] }
  const nothing = { per_trace: 'No call was replayed.', traces: [], summary }
  return { status, message: MESSAGES[status], mode, ...model, ...nothing }
}

/**
 * A rehearsal: every recorded call is put together again and answered with what was recorded, so that
 * it shows which calls could be asked again and sends nothing. Calls without a recorded question or
 * answer are errors.
 */
export function rehearse(
  traces: readonly (UsingTrace & { trace_id: string })[],
  model: ModelChange,
): CallReplay {
  const calls = traces.flatMap((trace) =>
    ownCalls(trace).map((call) => ({
      trace_id: trace.trace_id,
      call_id: call.id,
      error: faultOf(call),
    })),
  )
  if (calls.length === 0) return unreplayed('no_calls', 'mock', model)
  const byTrace = Map.groupBy(calls, ({ trace_id }) => trace_id)
  const failed = calls.filter(({ error }) => error !== null).length
  const replayed = calls.length - failed
  return {
    status: 'ok',
    message: 'Answered with what was recorded; no provider was asked',
    mode: 'mock',
    ...model,
    per_trace: `${replayed} of ${calls.length} calls can be asked again, in ${byTrace.size} traces.`,
    traces: [...byTrace].map(([trace_id, own]) => {
      const errors = own.filter(({ error }) => error !== null).length
      return { trace_id, replayed: own.length - errors, errors }
    }),
    summary: {
      replayed,
      equivalent: replayed,
      changed: 0,
      errors: failed,
      samples: calls.slice(0, SAMPLES),
    },
  }
}

function faultOf({ rendered_input, output, tool_calls }: ReturnType<typeof ownCalls>[number]) {
  if (rendered_input.length === 0) return 'no recorded input'
  const isAnswered = Object.keys(output).length > 0 || tool_calls.length > 0
  return isAnswered ? null : 'no recorded output'
}

function find({ components }: Manifest, name: string): Component | undefined {
  return components.find((c) => c.component_type === 'model' && c.component_name === name)
}

const MESSAGES = {
  no_model_change: 'The candidate has the models of the baseline: there is nothing to replay',
  unsupported: 'No provider is configured: calls can only be rehearsed, with mode=mock',
  no_calls: 'No trace of the baseline in the window has LLM calls',
}
const SAMPLES = 10
