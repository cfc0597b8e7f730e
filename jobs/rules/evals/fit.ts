import type { Verdict } from '../core/verdicts.ts'
import type { CompatReason } from '../manifests/compat-decision.ts'
import { COMPAT_SCORES } from '../manifests/compat-policy.ts'
import type { CompatibilityEvidence } from './evidence.ts'
import { PLAIN_SCORE } from './score.ts'
import type { NewScore } from './score.ts'

/** How a trace fits the manifest that is active for its agent. */
export interface Fit {
  readonly target_manifest_id: string
  readonly verdict: Verdict
  readonly needs_review: boolean
  /** Worst first; empty where the trace was recorded under the target. */
  readonly reasons: readonly CompatReason[]
}

/** What a fit says to the decision on its trace: its worst reason stands for all. */
export function fitEvidence({ verdict, needs_review, reasons }: Fit): CompatibilityEvidence {
  const [worst] = reasons
  if (!worst) return { verdict, needs_review, ...FITS }
  // A trace that cannot be run again is explained by what it would have to be run again for.
  const [, next] = reasons
  const cause = worst.code === 'not_replayable' && next ? next : worst
  return {
    verdict,
    needs_review,
    code: isUnreplayable(worst) ? 'compat.unreplayable' : `compat.${worst.code}`,
    subject: cause.subject,
    message: messageOf(cause, isUnreplayable(worst)),
  }
}

/** The fit as a score, 0 to 1. */
export function fitScore({ verdict, reasons, target_manifest_id }: Fit): NewScore {
  const codes = [...new Set(reasons.map(({ code }) => code))]
  return {
    ...PLAIN_SCORE,
    name: FIT_SCORE,
    source: 'compat_engine',
    source_kind: 'builtin',
    value: COMPAT_SCORES[verdict],
    data_type: 'numeric',
    label: verdict,
    passed: verdict === 'keep' || verdict === 'repair',
    reason: codes.join(', ') || null,
    category: 'compatibility',
    metadata: { target_manifest_id },
  }
}

/** Name of the score that stands for a fit. */
export const FIT_SCORE = 'compatibility'

/** Whether the trace would have to be run again and cannot be. */
function isUnreplayable({ action, code }: CompatReason) {
  return action === 'drop' && code !== 'trace_not_examinable'
}

function messageOf({ code, component_type, subject, detail }: CompatReason, unreplayable: boolean) {
  const what =
    component_type === null ? subject : `${component_type.replaceAll('_', ' ')} ${subject}`
  const text = `${what}: ${code.replaceAll('_', ' ')}${detail ? ` (${detail})` : ''}`
  return unreplayable ? `It would have to be run again, and cannot be. ${text}` : text
}

const FITS = {
  code: 'compat.fits',
  subject: 'manifest',
  message: 'It uses nothing that has changed',
}
