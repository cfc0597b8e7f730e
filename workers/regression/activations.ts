import { DAY_MS } from '../../jobs/rules/core/time.ts'
import type { Activation } from '../../jobs/rules/regression/bisect.ts'
import { smallestVisibleDrop } from '../../jobs/rules/regression/bisect.ts'
import { interval, summarize } from '../../jobs/rules/regression/statistics.ts'
import type { ActivationRow, SessionRow } from '../../sql/regression/activations.ts'
import type { SeriesVersion } from '../../sql/regression/series.ts'

/** An activation with its ordinal among all activations of the agent. */
export interface OrderedActivation extends Activation {
  readonly ordinal: number
  readonly sessions: readonly SessionRow[]
}

/** No earlier traces are bisected. */
export function bisectedSince(now: Date) {
  return new Date(now.getTime() - WINDOW_MS)
}

export function toActivations(
  rows: readonly ActivationRow[],
  sessions: readonly SessionRow[],
): OrderedActivation[] {
  const byOrdinal = Map.groupBy(sessions, ({ ordinal }) => ordinal)
  return rows.map(({ version_number, ...row }) => ({
    ...row,
    version_label: `v${version_number}`,
    sessions: byOrdinal.get(row.ordinal) ?? [],
  }))
}

/** Describes the versions for people. Each session has the same weight in a mean, as it has in the tests. */
export function describeVersions(activations: readonly OrderedActivation[]): SeriesVersion[] {
  return activations.map(({ manifest_id, version_label, activated_at, sessions }, i) => {
    const before = activations[i - 1]?.sessions ?? []
    const n = sessions.reduce((sum, session) => sum + session.n, 0)
    const passed = sessions.reduce((sum, session) => sum + session.passed, 0)
    const arm = sessions.length > 0 ? summarize(sessions) : undefined
    const bounds = arm && arm.freedom > 0 ? interval(arm) : undefined
    return {
      manifest_id,
      version_label,
      activated_at: activated_at.toISOString(),
      n,
      mean: arm?.mean ?? null,
      ci95_low: bounds?.[0] ?? null,
      ci95_high: bounds?.[1] ?? null,
      pass_rate: n > 0 ? passed / n : null,
      mde: smallestVisibleDrop(before, sessions),
    }
  })
}

const WINDOW_MS = 180 * DAY_MS
