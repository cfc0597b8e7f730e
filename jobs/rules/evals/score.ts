import { isObject, reader } from '../core/reader.ts'
import type { Fault, Reader } from '../core/reader.ts'

/** A score as it is to be stored, but for the trace it belongs to. */
export interface NewScore {
  name: string
  source: Source
  source_kind: SourceKind
  /** '' when the score is about the whole trace. */
  span_id: string
  /** Tells apart several scores of one name and source, for example two people's; '' for the only one. */
  identifier: string
  /** 0 to 1; null for a score that is only a label or a text. */
  value: number | null
  data_type: (typeof DATA_TYPES)[number]
  label: string | null
  passed: boolean | null
  reason: string | null
  category: Category
  /** The category in the client's words; null where they say no more than `category`. */
  category_detail: string | null
  source_label: string | null
  evaluator_version: string | null
  metadata: Record<string, unknown>
}

/** The members of a score of a whole trace that tells no more than a value. */
export const PLAIN_SCORE = {
  span_id: '',
  identifier: '',
  label: null,
  passed: null,
  reason: null,
  category_detail: null,
  source_label: null,
  evaluator_version: null,
} satisfies Partial<NewScore>

export type Category = (typeof CATEGORIES)[number]
export type Source = (typeof SOURCES)[number]
export type SourceKind = (typeof SOURCE_KINDS)[number]

/** What holds for scores that do not say it themselves. */
export interface ScoreDefaults {
  readonly source?: Source | null
  readonly source_label?: string | null
  readonly identifier?: string | null
  readonly metadata?: Record<string, unknown>
}

/**
 * Reads the scores that come with a trace: `{name: number | boolean}`, or a list of
 * `{name, value | score, label?, passed?, reason?, source?, ...}`. Absent ones are no scores. Scores
 * of one identity (name, source, span, identifier) are one: the last.
 */
export function readScores(
  value: unknown,
  field: string,
  faults: Fault[],
  defaults: ScoreDefaults = {},
): NewScore[] {
  if (value === undefined || value === null) return []
  if (!isObject(value) && !Array.isArray(value)) {
    faults.push({ field, message: 'must be a list or an object of scores' })
    return []
  }
  const entries = Object.entries(value)
  if (entries.length > MAX_SCORES) {
    faults.push({ field, message: `must hold at most ${MAX_SCORES} scores` })
    return []
  }
  const scores = entries.flatMap(([key, given]: [string, unknown]) => {
    const each = Array.isArray(value) ? given : withName(key, given)
    return readScore(each, `${field}.${key}`, faults, defaults) ?? []
  })
  return [...new Map(scores.map((score) => [identityOf(score), score])).values()]
}

/** One score, or undefined when it is none; what is wrong is added to `faults`. */
export function readScore(
  value: unknown,
  field: string,
  faults: Fault[],
  defaults: ScoreDefaults = {},
): NewScore | undefined {
  const read = reader(value, field, faults)
  if (!read) return undefined
  const before = faults.length
  const source = sourceOf(read.name('source')) ?? defaults.source ?? 'custom'
  const score: NewScore = {
    name: read.required('name'),
    source,
    source_kind: KIND_OF[source],
    span_id: read.id('span_id') ?? '',
    identifier: read.id('identifier') ?? defaults.identifier ?? '',
    ...readValue(read),
    passed: read.has('passed') ? read.flag('passed') : null,
    reason: read.text('reason', MAX_REASON),
    ...readCategory(read, source),
    source_label: read.name('source_label') ?? defaults.source_label ?? null,
    evaluator_version: read.name('evaluator_version'),
    metadata: { ...defaults.metadata, ...read.object('metadata') },
  }
  if (faults.length > before) return undefined
  if (score.value === null && score.label === null && score.reason === null) {
    read.fault('score', 'is required')
    return undefined
  }
  return score
}

/** What makes a score the same as an earlier one of its trace: pushing it again updates that one. */
export function identityOf({ name, source, span_id, identifier }: NewScore) {
  return JSON.stringify([name, source, span_id, identifier])
}

/** Words nobody knows stand for some tool outside. */
export function sourceOf(word: string | null): Source | null {
  if (word === null) return null
  if (word === 'builtin') return 'built_in'
  return SOURCES.find((source) => source === word) ?? 'external'
}

/** Whether a score counts as a pass: by its own word, else by its value. */
export function isPass({ value, passed }: { value: number | null; passed: boolean | null }) {
  return passed ?? (value !== null && value >= PASS_AT)
}

function withName(name: string, given: unknown) {
  return isObject(given) ? { ...given, name } : { name, value: given }
}

/** Any word is a category: what stands before `:` tells scores of compatibility from all others. */
function readCategory(
  read: Reader,
  source: Source,
): Pick<NewScore, 'category' | 'category_detail'> {
  const given = read.name('category')
  if (given === null) {
    const category = source === 'compat_engine' ? 'compatibility' : 'quality'
    return { category, category_detail: null }
  }
  const category = given.split(':', 1)[0] === 'compatibility' ? 'compatibility' : 'quality'
  return { category, category_detail: given === category ? null : given }
}

function readValue(read: Reader): Pick<NewScore, 'value' | 'data_type' | 'label'> {
  const key = read.has('value') ? 'value' : 'score'
  const given = read.has(key) ? read.any(key) : null
  const label = read.text('label', MAX_LABEL)
  const asked = read.word('data_type', DATA_TYPES)
  if (typeof given === 'boolean') return { value: Number(given), data_type: 'boolean', label }
  if (given === null) {
    // A bare pass or fail is a value too.
    if (label === null && typeof read.any('passed') === 'boolean') {
      return { value: Number(read.any('passed')), data_type: 'boolean', label }
    }
    return { value: null, data_type: asked ?? (label === null ? 'text' : 'categorical'), label }
  }
  if (typeof given !== 'number' || !(given >= 0 && given <= 1)) {
    read.fault(key, 'must be a number from 0 to 1, true or false')
    return { value: null, data_type: 'numeric', label }
  }
  return { value: given, data_type: asked ?? 'numeric', label }
}

export const SOURCES = [
  'built_in',
  'sdk',
  'custom',
  'llm_judge',
  'deepeval',
  'langsmith',
  'external',
  'human',
  'compat_engine',
] as const
export const SOURCE_KINDS = ['builtin', 'third_party', 'custom', 'human'] as const
export const DATA_TYPES = ['numeric', 'boolean', 'categorical', 'text'] as const
export const CATEGORIES = ['quality', 'compatibility'] as const

/** A score that does not say whether it passed passes from here on. */
export const PASS_AT = 0.7

const KIND_OF: Readonly<Record<Source, SourceKind>> = {
  built_in: 'builtin',
  compat_engine: 'builtin',
  sdk: 'custom',
  custom: 'custom',
  llm_judge: 'third_party',
  deepeval: 'third_party',
  langsmith: 'third_party',
  external: 'third_party',
  human: 'human',
}
/** Scores that one trace brings at once. */
export const MAX_SCORES = 1000
export const MAX_LABEL = 256
export const MAX_REASON = 4000
