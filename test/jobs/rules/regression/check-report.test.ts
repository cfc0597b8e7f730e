import t from 'tap'
import { firstRunFindings } from '../../../../jobs/rules/regression/check-findings.ts'
import { diffManifests } from '../../../../jobs/rules/manifests/manifest-diff.ts'
import { reportFindings } from '../../../../jobs/rules/regression/check-report.ts'
import type { MetricCheck } from '../../../../jobs/rules/regression/metric-check.ts'
import {
  noWalkedTraces,
  surfaceRisks,
  tallyTrace,
} from '../../../../jobs/rules/regression/walked-traces.ts'
import type { EvalStatus, WalkedTraces } from '../../../../jobs/rules/regression/walked-traces.ts'
import type { CompatDecision } from '../../../../jobs/rules/manifests/compat-decision.ts'
import type { ComponentType } from '../../../../jobs/rules/manifests/manifest.ts'
import type { SurfaceChange } from '../../../../jobs/rules/manifests/surface-change.ts'
import { component, manifest, manifests, tool } from '../../../support/manifests.ts'
import fc from '../../../support/property.ts'

const RANKS = ['no_change', 'low_risk', 'medium_risk', 'high_risk']
const downstream = firstRunFindings().downstream_impact
const transitions = fc
  .tuple(manifests(), manifests(), fc.infiniteStream(fc.nat(3)))
  .map(([before, after, uses]) => {
    const changes = diffManifests(before, after)
    return { changes, walked: walkOf(changes, () => uses.next().value as number) }
  })

t.test('a further change never makes a candidate look safer', async () => {
  fc.assert(
    fc.property(transitions, fc.nat(), ({ changes, walked }, at) => {
      const fewer = changes.filter((_, i) => i !== at % Math.max(changes.length, 1))
      const [one, all] = [fewer, changes].map((some) => RANKS.indexOf(report(some, walked).verdict))
      return (one as number) >= 0 && (one as number) <= (all as number)
    }),
  )
})

t.test('without traces a change is unverified, and none is none', async () => {
  fc.assert(
    fc.property(transitions, ({ changes }) => {
      const { verdict, structural_severity } = report(changes, noWalkedTraces())
      const isChanged = changes.some(({ state }) => state !== 'doc_only')
      return isChanged
        ? verdict === 'unverified' && structural_severity !== null
        : verdict === 'no_change' && structural_severity === null
    }),
  )
})

t.test('the counts of a report are those of its lists and of the traces affected', async () => {
  fc.assert(
    fc.property(transitions, ({ changes, walked }) => {
      const found = report(changes, walked)
      const { high_risk_count: high, medium_risk_count: medium, low_risk_count: low } = found
      const verdicts = ['keep', 'repair', 'replay', 'drop'] as const
      const by = found.verdicts_by_score
      return (
        high + medium + low === found.affected_trace_count &&
        verdicts.every((verdict) => {
          const n = ['passing', 'failing', 'unscored'] as const
          return (
            n.reduce((sum, status) => sum + (by?.[status][verdict] ?? 0), 0) ===
            found.compat_summary[verdict]
          )
        }) &&
        found.impacts.every(({ verdicts: v, affected_trace_count }) => {
          return v && v.keep + v.repair + v.replay + v.drop === affected_trace_count
        }) &&
        found.diff_summary.total_changes === found.diff_summary.changes.length &&
        found.impacts.every(({ eval_breakdown: e, affected_trace_count: n }) => {
          return e.passing_affected + e.failing_affected + e.unscored_affected === n
        })
      )
    }),
  )
})

t.test('a trace counts once, by the worst change it uses', async (t) => {
  const changes = between(
    [tool('a', {}), tool('b', { x: string })],
    [tool('b', { x: string, y: string })],
  )
  const walked = noWalkedTraces()
  use(walked, changes, ['tool:a', 'tool:b'])
  use(walked, changes, ['tool:b'])
  use(walked, changes, ['tool:b'])
  t.match(report(changes, walked), {
    high_risk_count: 1,
    medium_risk_count: 0,
    low_risk_count: 2,
    diff_summary: { total_changes: 2, high_severity_changes: 1, low_severity_changes: 1 },
  })
})

t.test('what the changes hit decides what the scores say', async (t) => {
  const hit = (change: SurfaceChange[], status: EvalStatus) => {
    const walked = walkOf(change, () => 0)
    use(walked, change, [change[0]?.surface ?? ''], { status })
    return report(change, walked)
  }
  const removed = between([tool('search', {})], [])
  t.match(hit(removed, 'passing'), { verdict: 'high_risk', eval_verdict: 'regression_likely' })
  t.match(hit(removed, 'failing'), { verdict: 'high_risk', eval_verdict: 'expected_impact' })
  t.match(hit(removed, 'unscored'), {
    eval_verdict: 'expected_impact',
    warnings: [{ code: 'unscored_traffic' }],
  })
  const added = between([tool('search', {})], [tool('search', { x: string })])
  t.equal(hit(added, 'passing').eval_verdict, 'expected_impact', 'clean means nothing that passes')
  t.equal(
    report(
      added,
      walkOf(added, () => 0),
    ).eval_verdict,
    'clean',
  )
})

t.test('is clean only where no passing trace is affected', async () => {
  fc.assert(
    fc.property(transitions, ({ changes, walked }) => {
      const { eval_verdict, eval_breakdown } = report(changes, walked)
      return eval_verdict !== 'clean' || eval_breakdown.passing_affected === 0
    }),
  )
})

t.test('the share of traces that cannot stay decides too', async (t) => {
  const schema = (type: string) => ({ schema: { type: 'object', properties: { a: { type } } } })
  const changes = between(
    [component('output_contract', 'out', schema('string'))],
    [component('output_contract', 'out', schema('integer'))],
  )
  const verdict = (lost: number) => {
    const walked = noWalkedTraces()
    for (let i = 0; i < 100; i++) {
      use(walked, i < lost ? changes : [], i < lost ? ['output_contract:out'] : [], {
        verdict: i < lost ? 'replay' : 'keep',
      })
    }
    return report(changes, walked)
  }
  t.match(verdict(100), {
    verdict: 'high_risk',
    human_summary:
      /^High risk by traffic: 100 of 100 traces \(100 %\).* Medium risk by structure: /,
  })
  t.equal(verdict(50).verdict, 'high_risk')
  t.equal(verdict(49).verdict, 'medium_risk')
  const renamed = between([tool('x', {})], [tool('x', { y: string })])
  const few = (lost: number) => {
    const walked = noWalkedTraces()
    for (let i = 0; i < 100; i++) {
      use(walked, renamed, ['tool:x'], { verdict: i < lost ? 'replay' : 'keep' })
    }
    return report(renamed, walked).verdict
  }
  t.same([few(5), few(4)], ['medium_risk', 'low_risk'])
})

t.test('a confirmed drop is high risk, whatever the structure', async (t) => {
  const dropped = metric({ verdict: 'regressed', delta: -0.1234, p_value: 9e-6 })
  const walked = walkOf([], () => 0)
  t.match(report([], walked, [dropped]), {
    verdict: 'high_risk',
    eval_verdict: 'regression_likely',
    human_summary:
      'High risk by scores: helpfulness dropped by 0.12 (p 0.000009). No structural change.',
  })
  const added = between([tool('search', {})], [tool('search', { x: string })])
  const both = report(
    added,
    walkOf(added, () => 1),
    [dropped],
  )
  t.match(both, {
    verdict: 'high_risk',
    human_summary: /^High risk by scores: .* Low risk by structure: tool search/,
  })
  t.equal(report([], walked, [{ ...dropped, gating: false }]).verdict, 'no_change')
})

t.test('no drop found is said with the drop that would have been', async (t) => {
  const summary = (...metrics: MetricCheck[]) =>
    report(
      [],
      walkOf([], () => 0),
      metrics,
    ).human_summary
  t.equal(
    summary(metric({ mde: 0.0813 }), metric({ metric: 'tone', p_value: null, mde: 0.4 })),
    'No structural change. No drop was confirmed; this traffic could have shown a drop of 0.081 in helpfulness; too few traces have tone.',
  )
  t.match(
    summary(metric({ verdict: 'regressed' }), metric({ metric: 'tone', mde: 0.1 })),
    /No other drop/,
  )
  t.equal(summary(), 'No structural change.')
})

const string = { type: 'string' }

function between(before: Parameters<typeof manifest>, after: Parameters<typeof manifest>) {
  return diffManifests(manifest(...before), manifest(...after))
}

function report(
  changes: readonly SurfaceChange[],
  walked: WalkedTraces,
  metrics: readonly MetricCheck[] = [],
) {
  return reportFindings({ changes, walked, metrics, downstream, fingerprint: null })
}

/** One trace that uses nothing, and of each change as many passing ones as told. */
function walkOf(changes: readonly SurfaceChange[], uses: () => number) {
  const walked = noWalkedTraces()
  use(walked, changes, [])
  for (const { surface, state } of changes) {
    for (let n = state === 'doc_only' ? 0 : uses(); n > 0; n--) use(walked, changes, [surface])
  }
  return walked
}

/** Walks a trace that uses some surfaces. */
function use(
  walked: WalkedTraces,
  changes: readonly SurfaceChange[],
  surfaces: readonly string[],
  {
    status = 'passing',
    verdict = 'keep',
  }: { status?: EvalStatus; verdict?: 'keep' | 'replay' } = {},
) {
  const reasons = surfaces.map((surface) => {
    const [type, subject] = surface.split(':') as [ComponentType, string]
    return { action: verdict, code: 'component_changed' as const, component_type: type, subject }
  })
  const decision: CompatDecision = { verdict, needs_review: false, reasons, repair_rules: [] }
  tallyTrace(walked, 't', { status, decision, known: surfaceRisks(changes) })
}

function metric(more: Partial<MetricCheck>): MetricCheck {
  return {
    metric: 'helpfulness',
    gating: true,
    design: 'unpaired',
    n_baseline: 60,
    n_candidate: 60,
    clusters: [60, 60],
    mean_baseline: 0.8,
    mean_candidate: 0.8,
    delta: 0,
    ci: null,
    p_value: 0.5,
    q_value: 0.5,
    raw_delta: 0,
    mde: null,
    needed_n: null,
    verdict: 'pass',
    trace_sample_ids: [],
    ...more,
  }
}
