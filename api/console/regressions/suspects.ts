import type { Suspects } from '../charts/bisect-chart.ts'

/** For each open finding the versions one of which is to blame, of those that are shown. */
export function suspectsOf(
  versions: readonly ShownVersion[],
  findings: readonly ShownFinding[],
): Suspects[] {
  return findings.flatMap(({ status, candidate_version_labels, detected_at }) => {
    if (status !== 'open') return []
    const places = candidate_version_labels
      .map((label) => lastPlace(versions, label, detected_at))
      .filter((place) => place >= 0)
    return places.length === 0 ? [] : [{ first: Math.min(...places), last: Math.max(...places) }]
  })
}

/** A version that was active more than once is meant as it was last before the finding. */
function lastPlace(versions: readonly ShownVersion[], label: string, until: Date) {
  return versions.findLastIndex(
    ({ version_label, activated_at }) => version_label === label && new Date(activated_at) <= until,
  )
}

interface ShownVersion {
  readonly version_label: string
  readonly activated_at: string
}
interface ShownFinding {
  readonly status: string
  readonly candidate_version_labels: readonly string[]
  readonly detected_at: Date
}
