import t from 'tap'
import { firstRunFindings } from '../../../../jobs/rules/regression/check-findings.ts'
import { diffManifests } from '../../../../jobs/rules/manifests/manifest-diff.ts'
import { emptyTallies, reportFindings } from '../../../../jobs/rules/regression/check-report.ts'
import type { CheckTallies } from '../../../../jobs/rules/regression/check-report.ts'
import type { SurfaceChange } from '../../../../jobs/rules/manifests/surface-change.ts'
import { manifests } from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'

const RANKS = ['no_change', 'low_risk', 'medium_risk', 'high_risk']
const downstream = firstRunFindings().downstream_impact
const transitions = fc
  .tuple(manifests(), manifests(), fc.infiniteStream(fc.nat(3)))
  .map(([before, after, uses]) => {
    const changes = diffManifests(before, after)
    return { changes, tallies: talliesOf(changes, () => uses.next().value as number) }
  })

t.test('a further change never makes a candidate look safer', async () => {
  fc.assert(
    fc.property(transitions, fc.nat(), ({ changes, tallies }, at) => {
      const fewer = changes.filter((_, i) => i !== at % Math.max(changes.length, 1))
      const [one, all] = [fewer, changes].map((some) =>
        RANKS.indexOf(report(some, tallies).verdict),
      )
      return (one as number) >= 0 && (one as number) <= (all as number)
    }),
  )
})

t.test('without traces a change is unverified, and none is none', async () => {
  fc.assert(
    fc.property(transitions, ({ changes }) => {
      const { verdict, structural_severity } = report(changes, emptyTallies())
      const isChanged = changes.some(({ state }) => state !== 'doc_only')
      return isChanged
        ? verdict === 'unverified' && structural_severity !== null
        : verdict === 'no_change' && structural_severity === null
    }),
  )
})

t.test('the counts of a report are those of its lists', async () => {
  fc.assert(
    fc.property(transitions, ({ changes, tallies }) => {
      const found = report(changes, tallies)
      const { high_risk_count: high, medium_risk_count: medium, low_risk_count: low } = found
      return (
        high + medium + low === found.impacts.length &&
        found.diff_summary.total_changes === found.diff_summary.changes.length &&
        found.impacts.every(({ eval_breakdown: e, affected_trace_count: n }) => {
          return e.passing_affected + e.failing_affected + e.unscored_affected === n
        })
      )
    }),
  )
})

t.test('what grave changes hit decides what the scores say', async (t) => {
  const changes = diffManifests(
    { components: [tool], is_closed_world: false },
    { components: [], is_closed_world: false },
  )
  const hit = (status: 'passing' | 'failing' | 'unscored') => {
    const tallies = talliesOf(changes, () => 0)
    use(tallies, status, 'tool:search')
    return report(changes, tallies)
  }
  t.match(hit('passing'), { verdict: 'high_risk', eval_verdict: 'regression_likely' })
  t.match(hit('failing'), { verdict: 'high_risk', eval_verdict: 'expected_impact' })
  t.match(hit('unscored'), {
    eval_verdict: 'expected_impact',
    warnings: [{ code: 'unscored_traffic' }],
  })
})

const tool = {
  component_type: 'tool',
  component_name: 'search',
  component_version: null,
  content_hash: 'x',
  schema_json: {},
} as const

function report(changes: readonly SurfaceChange[], tallies: CheckTallies) {
  return reportFindings({ changes, tallies, metrics: [], downstream, fingerprint: null })
}

/** One trace that uses nothing, and of each change as many passing ones as told. */
function talliesOf(changes: readonly SurfaceChange[], uses: () => number) {
  const tallies = emptyTallies()
  tallies.all.total_episodes = 1
  for (const { surface } of changes) {
    for (let n = uses(); n > 0; n--) use(tallies, 'passing', surface)
  }
  return tallies
}

function use(tallies: CheckTallies, status: 'passing' | 'failing' | 'unscored', surface: string) {
  for (const tally of [tallies.all, tallies[status]]) {
    const counts = { affected: 0, keep: 0, repair: 0, replay: 0, drop: 0, sample_trace_ids: [] }
    tally.surfaces[surface] ??= counts
    tally.surfaces[surface].affected++
    tally.affected_trace_count++
    tally.total_episodes++
  }
}
