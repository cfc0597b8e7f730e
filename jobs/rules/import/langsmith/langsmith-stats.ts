import { isObject } from '../../core/reader.ts'
import { foreignScore } from '../foreign/foreign-score.ts'
import { parsedJson, textFrom } from '../foreign/foreign-value.ts'
import { asCount, asNumber } from '../foreign/members-left.ts'
import type { Loss, Members, Part } from '../format.ts'
import { fingerprint } from '../format.ts'

/**
 * Scores from the statistics in runs, for exports that have no feedback beside them, as those of tables: the
 * mean of each key, or its only label. Statistics of feedback that came itself are left out.
 * @param feedback the feedback that came
 */
export function readStats(
  runs: readonly Members[],
  feedback: readonly Part[],
  traceId: string,
): { scores: Members[]; losses: Loss[] }[] {
  const told = new Set(
    feedback.map(({ value }) => idOf(value['run_id'] ?? value['trace_id'], value['key'])),
  )
  return runs.flatMap(({ id, feedback_stats: stats }) =>
    Object.entries(isObject(stats) ? stats : {})
      .filter(([key]) => !told.has(idOf(id, key)))
      .flatMap(([key, each]) => {
        const read = isObject(each) ? readStatistic(key, each) : null
        if (!read) return []
        const spanId = id === traceId ? null : id
        const { score, losses } = foreignScore({ ...read, id: idOf(id, key), spanId })
        return [{ scores: [score], losses }]
      }),
  )
}

/** Whether the part of a run has statistics of feedback. */
export function holdsStats({ run }: Members): boolean {
  const stats = isObject(run) ? parsedJson(run['feedback_stats']) : undefined
  return isObject(stats) && Object.keys(stats).length > 0
}

/** Of several labels none is that of the run. */
function readStatistic(name: string, { n, avg, values }: Members) {
  const labels = isObject(values) ? Object.keys(values) : []
  const [value, label] = [asNumber(avg), labels.length === 1 ? labels[0] : null]
  const count = asCount(n)
  if (!count || (value === null && !label)) return null
  return {
    platform: 'langsmith',
    source: 'langsmith',
    name,
    value,
    label,
    metadata: { count },
  } as const
}

function idOf(run: unknown, key: unknown) {
  return `${textFrom(run)}:${fingerprint(key)}`
}
