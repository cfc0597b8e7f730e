import { VERDICTS } from '../core/verdicts.ts'
import type { Verdict } from '../core/verdicts.ts'
import { completeFilters, RecipeError } from './filters.ts'
import type { Filters, Loose, RequestedFilters } from './filters.ts'
import { completeRedact, freezeRedaction, NO_SETTINGS } from './redaction.ts'
import type { Redacted, Redaction, RedactWord } from './redaction.ts'

/** How a version is made, every default filled in: the same recipe over the same traces gives the same bytes. */
export interface Recipe {
  readonly dataset_type: DatasetType
  readonly filters: Filters
  /** Share of each split; together 1. */
  readonly split: Readonly<Record<Split, number>>
  /** Salt of the splits: another seed deals the units anew. */
  readonly seed: number
  readonly options: Options
  /** How `options.redact` is done; null where nothing is taken out. */
  readonly redaction: Redaction | null
}

export interface Options {
  readonly format: RowFormat
  /** One row a trace, or one row an LLM call. */
  readonly rows: RowStyle
  readonly dedupe: Dedupe
  /** Bound of a row, by the estimate of `openRowWriter`; null for no limit. */
  readonly max_tokens: number | null
  /** Bounds of the turns that a row trains: those with weight, of a pair the chosen one; null for none. */
  readonly max_turns: number | null
  readonly min_turns: number | null
  /** What is taken out of the texts of a row, in the order of the list; empty for nothing. */
  readonly redact: readonly Redacted[]
  readonly include_needs_review: boolean
  /** Corrections by people take the place of what the trace said. */
  readonly include_corrected: boolean
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
  readonly options?: RequestedOptions | undefined
}

/**
 * Fills in what a request leaves out.
 * @param target the agent a dataset is for, whose traces are meant when no agent is named
 * @param settings of the project, for what is redacted
 * @throws RecipeError where its parts do not go together
 */
export function completeRecipe(
  type: DatasetType,
  target: string | null,
  { filters = {}, split = {}, seed, options = {} }: RecipeRequest,
  settings = NO_SETTINGS,
): Recipe {
  const redact = completeRedact(options.redact)
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
      max_turns: options.max_turns ?? null,
      min_turns: options.min_turns ?? null,
      redact,
      include_needs_review: options.include_needs_review ?? true,
      include_corrected: options.include_corrected ?? true,
      reasoning: options.reasoning ?? 'drop',
      length_balance: options.length_balance ?? true,
    },
    redaction: freezeRedaction(redact, settings),
  }
  checkRecipe(recipe)
  return recipe
}

/** Fills in what recipes did not have yet when an earlier release stored this one. */
export function completeStored(stored: StoredRecipe): Recipe {
  return { redaction: null, ...stored, options: { ...LATER_OPTIONS, ...stored.options } }
}

/**
 * Whether the release before, which passes over options that it does not know, makes the rows that this
 * recipe asks for.
 */
export function isKnownBefore({ options }: Recipe) {
  const later = Object.entries(LATER_OPTIONS) as [LaterOption, unknown][]
  return (
    options.dedupe !== 'near' &&
    later.every(([name, value]) => JSON.stringify(options[name]) === JSON.stringify(value))
  )
}

/**
 * Whether a row says what a person wrote in the place of the output. A kto row labels what was said, as it
 * was scored.
 */
export function takesCorrections({ dataset_type: type, options }: Correctable) {
  return type !== 'kto' && options.include_corrected
}

function completeSplit(split: Loose<Recipe['split']>): Recipe['split'] {
  if (SPLITS.every((name) => split[name] === undefined)) return { train: 1, validation: 0, test: 0 }
  const { train = 0, validation = 0, test = 0 } = split
  return { train, validation, test }
}

function checkRecipe({ dataset_type: type, split, options, redaction }: Recipe) {
  const sum = split.train + split.validation + split.test
  if (Math.abs(sum - 1) > SUM_TOLERANCE) {
    throw new RecipeError(`The fractions of split add up to ${sum}; they must add up to 1`)
  }
  if (options.redact.includes('custom') && redaction?.patterns.length === 0) {
    throw new RecipeError(
      'options.redact asks for custom, and the project has no patterns: set them by PUT /redaction-settings',
    )
  }
  if (type !== 'sft' && options.format === 'sharegpt') {
    throw new RecipeError('The format sharegpt is for datasets of type sft')
  }
  if (type === 'dpo' && options.rows === 'call') {
    throw new RecipeError('Pairs are made of conversations: rows must be conversation')
  }
  const { min_turns: min, max_turns: max } = options
  if (min !== null && max !== null && min > max) {
    throw new RecipeError('options.min_turns must not be more than options.max_turns')
  }
}

export const DATASET_TYPES = ['sft', 'dpo', 'kto'] as const
/** In the order of the rows of a version. */
export const SPLITS = ['train', 'validation', 'test'] as const
export const ROW_FORMATS = ['openai', 'trl', 'sharegpt'] as const
export const ROW_STYLES = ['conversation', 'call'] as const
export const DEDUPES = ['exact', 'near', 'none'] as const
export const REASONINGS = ['drop', 'keep'] as const
export type DatasetType = (typeof DATASET_TYPES)[number]
export type Split = (typeof SPLITS)[number]
export type RowFormat = (typeof ROW_FORMATS)[number]
export type RowStyle = (typeof ROW_STYLES)[number]
export type Dedupe = (typeof DEDUPES)[number]
export type Reasoning = (typeof REASONINGS)[number]

const ALL_VERDICTS: readonly Verdict[] = [...VERDICTS].sort()
/** Traces to repair come in with their patches. What was dropped is what pairs reject, and the bad examples of kto. */
const DEFAULT_VERDICTS: Readonly<Record<DatasetType, readonly Verdict[]>> = {
  sft: ['keep', 'repair'],
  dpo: ALL_VERDICTS,
  kto: ALL_VERDICTS,
}
/** Fractions are written in decimals, whose sum may miss 1 by a rounding. */
const SUM_TOLERANCE = 1e-9

/** The options that came after the first release, with what recipes without them mean. */
const LATER_OPTIONS = {
  max_turns: null,
  min_turns: null,
  redact: [],
  include_corrected: true,
} satisfies Partial<Options>
type LaterOption = keyof typeof LATER_OPTIONS

/** A recipe as the database has it. */
export interface StoredRecipe extends Omit<Recipe, 'options' | 'redaction'> {
  readonly redaction?: Redaction | null
  readonly options: Omit<Options, LaterOption> & Partial<Pick<Options, LaterOption>>
}

interface Correctable extends Pick<Recipe, 'dataset_type'> {
  readonly options: Pick<Options, 'include_corrected'>
}

interface RequestedOptions extends Loose<Omit<Options, 'redact'>> {
  readonly redact?: readonly RedactWord[] | undefined
}
