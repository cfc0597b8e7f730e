import { createHash } from 'node:crypto'

/** A complete decision policy; immutable once stored. */
export interface PolicySettings {
  readonly preset: Preset
  /** Quality from here on is kept. 0 to 1, at least `drop_at`. */
  readonly keep_at: number
  /** Quality below this is dropped; 0 drops nothing for its score. */
  readonly drop_at: number
  /** How much each kind of source counts, 0 to 1. */
  readonly source_weights: Readonly<Record<Trust, number>>
  /** What becomes of a trace whose evidence is in doubt: kept for a review, or replayed. */
  readonly on_doubt: 'review' | 'replay'
}

/** A policy as it holds for an agent. */
export interface Policy {
  /** '' when it is the project's own. */
  readonly agent_name: string
  /** 0 for the default that holds where none was set. */
  readonly version: number
  readonly settings: PolicySettings
}

export type Preset = (typeof PRESETS)[number]
/**
 * Kinds of evidence by trust: people, checks of the outcome, judges outside, the client's own scores,
 * and the built-ins that are always on, which show hygiene and not the outcome.
 */
export type Trust = (typeof TRUSTS)[number]

export interface PolicyRequest {
  readonly preset?: Preset | undefined
  readonly thresholds?: Partial<Record<'keep_at' | 'drop_at', number | undefined>> | undefined
  readonly source_weights?: Partial<Record<Trust, number | undefined>> | undefined
}

/** The settings a request asks for: its preset with what it sets besides. */
export function resolvePolicy({ preset = 'default', thresholds, source_weights }: PolicyRequest) {
  const base = BY_PRESET[preset]
  return {
    preset,
    keep_at: thresholds?.keep_at ?? base.keep_at,
    drop_at: thresholds?.drop_at ?? base.drop_at,
    source_weights: { ...WEIGHTS, ...source_weights },
    on_doubt: base.on_doubt,
  } as PolicySettings
}

/** SHA-256 of the settings in one order of members. */
export function policyHash(settings: PolicySettings) {
  const { preset, keep_at, drop_at, on_doubt, source_weights } = settings
  const weights = TRUSTS.map((trust) => source_weights[trust])
  return createHash('sha256')
    .update(JSON.stringify([preset, keep_at, drop_at, on_doubt, weights]))
    .digest('hex')
}

/** The policy for an agent: its own, else the project's, else the default. */
export function policyFor<P extends Policy>(policies: readonly P[], agentName: string): P | Policy {
  const of = (name: string) => policies.find(({ agent_name }) => agent_name === name)
  return of(agentName) ?? of('') ?? DEFAULT_POLICY
}

export const PRESETS = ['strict', 'default', 'permissive'] as const
export const TRUSTS = ['human', 'verifier', 'third_party', 'custom', 'builtin'] as const

const WEIGHTS: PolicySettings['source_weights'] = {
  human: 1,
  verifier: 1,
  third_party: 0.7,
  custom: 0.4,
  builtin: 0.1,
}
const BY_PRESET = {
  strict: { keep_at: 0.8, drop_at: 0.5, on_doubt: 'replay' },
  default: { keep_at: 0.7, drop_at: 0.4, on_doubt: 'review' },
  permissive: { keep_at: 0.6, drop_at: 0, on_doubt: 'review' },
} as const satisfies Record<Preset, Pick<PolicySettings, 'keep_at' | 'drop_at' | 'on_doubt'>>

export const DEFAULT_POLICY: Policy = { agent_name: '', version: 0, settings: resolvePolicy({}) }
