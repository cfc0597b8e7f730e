import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { EVAL_VERDICTS, VERDICTS } from '../core/verdicts.ts'
import type { EvalVerdict, Verdict } from '../core/verdicts.ts'
import type { Trace } from '../traces/trace.ts'

/** How a version is made, every default filled in: the same recipe over the same traces gives the same bytes. */
export interface Recipe {
  readonly dataset_type: DatasetType
  readonly filters: Filters
  /** Share of each split; together 1. */
  readonly split: Readonly<Record<Split, number>>
  /** Salt of the splits: another seed deals the units anew. */
  readonly seed: number
  readonly options: Options
}

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

export interface Options {
  readonly format: RowFormat
  /** One row a trace, or one row an LLM call. */
  readonly rows: RowStyle
  readonly dedupe: Dedupe
  /** Bound of a row, by the estimate of `finishRow`; null for no limit. */
  readonly max_tokens: number | null
  readonly include_needs_review: boolean
  /** What becomes of what the assistant thought. */
  readonly reasoning: Reasoning
  /** Pairs are left out until chosen turns are about as long as rejected ones. */
  readonly length_balance: boolean
}

/** What a client asked for; what it left out is undefined. */
export interface RecipeRequest {
  readonly filters?: RequestedFilters | undefined
  readonly split?: Loose<Recipe['split']> | undefined
  readonly seed?: number | undefined
  readonly options?: Loose<Options> | undefined
}

/**
 * Fills in what a request leaves out.
 * @param target the agent a dataset is for, whose traces are meant when no agent is named
 * @throws RecipeError where its parts do not go together
 */
export function completeRecipe(
  type: DatasetType,
  target: string | null,
  { filters = {}, split = {}, seed, options = {} }: RecipeRequest,
): Recipe {
  const recipe: Recipe = {
    dataset_type: type,
    filters: completeFilters(filters, { agentName: target, verdicts: DEFAULT_VERDICTS[type] }),
    split: completeSplit(split),
    seed: seed ?? 0,
    options: {
      format: options.format ?? 'openai',
      rows: options.rows ?? 'conversation',
      dedupe: options.dedupe ?? 'exact',
      max_tokens: options.max_tokens ?? null,
      include_needs_review: options.include_needs_review ?? true,
      reasoning: options.reasoning ?? 'drop',
      length_balance: options.length_balance ?? true,
    },
  }
  checkRecipe(recipe)
  return recipe
}

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

function completeSplit(split: Loose<Recipe['split']>): Recipe['split'] {
  if (SPLITS.every((name) => split[name] === undefined)) return { train: 1, validation: 0, test: 0 }
  const { train = 0, validation = 0, test = 0 } = split
  return { train, validation, test }
}

function checkRecipe({ dataset_type: type, split, options }: Recipe) {
  const sum = split.train + split.validation + split.test
  if (Math.abs(sum - 1) > SUM_TOLERANCE) {
    throw new RecipeError(`The fractions of split add up to ${sum}; they must add up to 1`)
  }
  if (type !== 'sft' && options.format === 'sharegpt') {
    throw new RecipeError('The format sharegpt is for datasets of type sft')
  }
  if (type === 'dpo' && options.rows === 'call') {
    throw new RecipeError('Pairs are made of conversations: rows must be conversation')
  }
}

export const DATASET_TYPES = ['sft', 'dpo', 'kto'] as const
/** In the order of the rows of a version. */
export const SPLITS = ['train', 'validation', 'test'] as const
export const ROW_FORMATS = ['openai', 'trl', 'sharegpt'] as const
export const ROW_STYLES = ['conversation', 'call'] as const
export const DEDUPES = ['exact', 'none'] as const
export const REASONINGS = ['drop', 'keep'] as const
export type DatasetType = (typeof DATASET_TYPES)[number]
export type Split = (typeof SPLITS)[number]
export type RowFormat = (typeof ROW_FORMATS)[number]
export type RowStyle = (typeof ROW_STYLES)[number]
export type Dedupe = (typeof DEDUPES)[number]
export type Reasoning = (typeof REASONINGS)[number]

const ALL_VERDICTS: readonly Verdict[] = [...VERDICTS].sort()
/** What was dropped is what pairs reject, and the bad examples of kto. */
const DEFAULT_VERDICTS: Readonly<Record<DatasetType, readonly Verdict[]>> = {
  sft: ['keep'],
  dpo: ALL_VERDICTS,
  kto: ALL_VERDICTS,
}
/** Fractions are written in decimals, whose sum may miss 1 by a rounding. */
const SUM_TOLERANCE = 1e-9

interface RequestedFilters extends Loose<Omit<Filters, 'since' | 'until' | 'eval_verdict'>> {
  readonly eval_verdict?: EvalVerdict | Verdict | undefined
  readonly since?: Date | undefined
  readonly until?: Date | undefined
}

type Loose<T> = { readonly [K in keyof T]?: T[K] | undefined }
