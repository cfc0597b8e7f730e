/** One thing a trace did that its manifest does not allow. */
export interface Violation {
  readonly kind: ViolationKind
  readonly severity: ViolationSeverity
  /** What it is about: a tool, a model, an agent, ... */
  readonly subject: string
  /** Which of the tool calls or spans of the trace; 0 for what is about the whole trace. */
  readonly position: number
  readonly expected: string | null
  /** Never holds a recorded value, which may be secret: paths, words, names and counts only. */
  readonly observed: string | null
  readonly span_id: string | null
}

export type ViolationKind = keyof typeof VIOLATION_SEVERITY
export type ViolationSeverity = 'high' | 'medium' | 'low'

/** A trace that names a manifest which its agent does not have. */
export function manifestUnknown(named: string): Violation {
  return found('manifest_unknown', named, { expected: 'a manifest registered for the agent' })
}

/** A violation by its kind; texts are cut to their bound. */
export function found(kind: ViolationKind, subject: string, more: Partial<Violation>): Violation {
  return {
    kind,
    severity: VIOLATION_SEVERITY[kind],
    subject: subject.slice(0, MAX_TEXT),
    position: 0,
    span_id: null,
    ...more,
    expected: more.expected ?? null,
    observed: more.observed?.slice(0, MAX_TEXT) ?? null,
  }
}

/** The same, which tells beside what was observed how many others are left out. */
export function tellingMore(violation: Violation, count: number): Violation {
  const more = `and ${count} more`
  const observed = violation.observed?.slice(0, MAX_TEXT - more.length - 2)
  return { ...violation, observed: observed ? `${observed}; ${more}` : more }
}

export const VIOLATION_SEVERITY = {
  tool_undeclared: 'high',
  tool_args_invalid: 'medium',
  tool_output_invalid: 'medium',
  model_undeclared: 'high',
  output_contract_failed: 'high',
  subagent_undeclared: 'medium',
  skill_undeclared: 'medium',
  context_source_undeclared: 'medium',
  guardrail_missing: 'high',
  guardrail_failed: 'high',
  tool_forbidden: 'high',
  tool_required_missing: 'high',
  step_limit_exceeded: 'medium',
  tool_call_limit_exceeded: 'medium',
  manifest_unknown: 'low',
  trace_not_examinable: 'low',
} as const satisfies Record<string, ViolationSeverity>

const MAX_TEXT = 500
