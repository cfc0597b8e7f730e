import type { Episode } from '../../jobs/rules/bisect.ts'
import { interval, summarize } from '../../jobs/rules/statistics.ts'
import type { ActivationRow, SessionRow } from '../../sql/regression-episodes.ts'
import type { SeriesVersion } from '../../sql/regression-series.ts'

/** An episode with its place among all activations of the agent. */
export interface OrderedEpisode extends Episode {
  readonly ordinal: number
  readonly sessions: readonly SessionRow[]
}

export function toEpisodes(
  activations: readonly ActivationRow[],
  sessions: readonly SessionRow[],
): OrderedEpisode[] {
  const byOrdinal = Map.groupBy(sessions, ({ ordinal }) => ordinal)
  return activations.map(({ version_number, ...activation }) => ({
    ...activation,
    version_label: `v${version_number}`,
    sessions: byOrdinal.get(activation.ordinal) ?? [],
  }))
}

/** As people see it. Means weigh each session the same, as the tests do. */
export function describeVersions(episodes: readonly OrderedEpisode[]): SeriesVersion[] {
  return episodes.map(({ manifest_id, version_label, activated_at, sessions }) => {
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
    }
  })
}
