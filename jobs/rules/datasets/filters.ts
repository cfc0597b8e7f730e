import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { EVAL_VERDICTS, VERDICTS } from '../core/verdicts.ts'
import type { EvalVerdict, Verdict } from '../core/verdicts.ts'
import type { Trace } from '../traces/trace.ts'

/** Which traces are looked at; null or an empty list lets all pass. */
export interface Filters {
  readonly agent_name: string | null
  readonly manifest_ids: readonly string[]
  readonly verdicts: readonly Verdict[]
  readonly eval_verdict: EvalVerdict | null
  /** Least quality, 0 to 1. */
  readonly min_eval_score: number | null
  /** A trace must have all of them. */
  readonly tags: readonly string[]
  /** By when the trace started, RFC 3339; `since` is in, `until` is not. */
  readonly since: string | null
  readonly until: string | null
  readonly status: Trace['status'] | null
  /** A tool that was called. */
  readonly tool: string | null
  readonly source_type: Trace['source_type'] | null
  /** Where there are more, the rows with the least hash stay: a fair sample that another build draws again. */
  readonly max_rows: number | null
}

/** What a client asked for; what it left out is undefined. */
export interface RequestedFilters extends Loose<Omit<Filters, 'since' | 'until' | 'eval_verdict'>> {
  readonly eval_verdict?: EvalVerdict | Verdict | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

/** A request may leave out what has a default. */
export type Loose<T> = { readonly [K in keyof T]?: T[K] | undefined }

/**
 * Fills in what is left out of filters.
 * @param defaults whose traces are meant, and with which verdicts, where the request does not say
 * @throws RecipeError where they do not go together
 */
export function completeFilters(
  requested: RequestedFilters,
  defaults: { agentName: string | null; verdicts: readonly Verdict[] },
): Filters {
  const filters: Filters = {
    agent_name: requested.agent_name ?? defaults.agentName,
    manifest_ids: [...new Set(requested.manifest_ids)].sort(),
    ...verdictsIn(requested, defaults.verdicts),
    min_eval_score: requested.min_eval_score ?? null,
    tags: [...new Set(requested.tags)].sort(),
    since: requested.since?.toISOString() ?? null,
    until: requested.until?.toISOString() ?? null,
    status: requested.status ?? null,
    tool: requested.tool ?? null,
    source_type: requested.source_type ?? null,
    max_rows: requested.max_rows ?? null,
  }
  if (filters.since !== null && filters.until !== null && filters.since >= filters.until) {
    throw new RecipeError('filters.since must be before filters.until')
  }
  return filters
}

/** SHA-256 of the filters in canonical JSON, hexadecimal. */
export function hashFilters(filters: Filters) {
  return createHash('sha256').update(canonicalJson(filters)).digest('hex')
}

/** Parts of a request that cannot be had together; the message is for the client. */
export class RecipeError extends Error {}

/** Clients ask for a verdict under `eval_verdict` too. */
function verdictsIn(
  { verdicts, eval_verdict }: RequestedFilters,
  defaults: readonly Verdict[],
): Pick<Filters, 'verdicts' | 'eval_verdict'> {
  const verdict = VERDICTS.find((word) => word === eval_verdict)
  if (verdict && verdicts?.some((word) => word !== verdict)) {
    throw new RecipeError(
      'filters.eval_verdict asks for another verdict than filters.verdicts: give one of them',
    )
  }
  if (verdict) return { verdicts: [verdict], eval_verdict: null }
  return {
    verdicts: verdicts ? [...new Set(verdicts)].sort() : defaults,
    eval_verdict: EVAL_VERDICTS.find((word) => word === eval_verdict) ?? null,
  }
}
