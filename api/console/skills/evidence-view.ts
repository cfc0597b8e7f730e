import type { AnswerOf } from '../../endpoint.ts'
import { compareVersions } from '../../skills/compare-versions.ts'
import { listBenchmarks } from '../../skills/list-benchmarks.ts'
import { showMetrics } from '../../skills/show-metrics.ts'
import { showRegistrySkill } from '../../skills/show-registry-skill.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ifFound } from '../page.ts'
import type { Visit } from '../page.ts'
import { ago, badge, count, curlLine, facts, scoreBar } from '../parts.ts'
import type { Tone } from '../parts.ts'
import type { Skill } from './skill.ts'
import { skillScore } from './skill-score.ts'

const DAYS = 90

/** What is known of how the skill does: its score, the traces that used it, and its benchmarks. */
export async function evidenceView(visit: Visit, skill: Skill): Promise<Markup> {
  const { ask, now, address, mayWrite } = visit
  const { id, name, visibility, latest_version: newest } = skill
  const params = { skill_name: id }
  const before = newest.version_number - 1
  const [shownPublicly, { skills }, compared, { benchmarks }] = await Promise.all([
    visibility === 'public'
      ? ifFound(ask(showRegistrySkill, { params: { skill_id: id } }))
      : undefined,
    ask(showMetrics, { query: { skill: name, days: DAYS } }),
    before > 0
      ? ask(compareVersions, {
          query: {
            skill: id,
            from_version: String(before),
            to_version: String(newest.version_number),
            days: DAYS,
          },
        })
      : undefined,
    ask(listBenchmarks, { params, query: { limit: 20 } }),
  ])
  const use = skills[0]
  return html`<div class="evidence">
      ${
        shownPublicly
          ? skillScore(shownPublicly)
          : html`<section class="card skill-score" aria-labelledby="score">
              <h2 id="score">Score</h2>
              <p class="quiet">
                A score is made of public skills. What it would be made of stands here.
              </p>
            </section>`
      }
      <section aria-labelledby="live">
        <h2 id="live">Traces of ${DAYS} days</h2>
        ${use ? usedIn(use) : html`<p class="quiet">None used it by this name.</p>`}
        ${compared && comparison(compared)}
      </section>
    </div>
    <section aria-labelledby="benchmarks">
      <h2 id="benchmarks">Benchmarks</h2>
      ${
        benchmarks.length > 0
          ? benchmarkTable(benchmarks, now)
          : html`<p class="quiet">
                None yet: the same cases, once with the skill and once without.
              </p>
              ${mayWrite && curlLine(address, `POST /skills/${name}/benchmarks`, EXAMPLE)}`
      }
    </section>`
}

const EXAMPLE = {
  suite: 'my-cases',
  suite_sha256: '…',
  runner: 'laptop',
  run_at: '…',
  cases: [{ case_id: 'first', with: 'passed', without: 'failed' }],
}

function usedIn(use: Use) {
  return facts({
    Traces: html`${count(use.traces)}${use.traces_are_capped && '+'}`,
    Judged: count(use.judged),
    Passed: scoreBar(use.pass_rate, 'Passed'),
    Quality: scoreBar(use.avg_quality, 'Quality'),
    'Tokens a trace': use.tokens === null ? undefined : count(Math.round(use.tokens)),
  })
}

function comparison({ from, to, delta, verdict, p_value: p }: Comparison) {
  const signed = (n: number) => `${n < 0 ? '−' : '+'}${Math.abs(n).toFixed(2)}`
  return html`<div class="compared">
    <h3>
      Version ${to.version_number} beside ${from.version_number}
      ${badge(verdict.replaceAll('_', ' '), TONES[verdict])}
    </h3>
    ${facts({
      Judged: `${count(from.judged)} → ${count(to.judged)}`,
      Passed: delta.pass_rate === null ? undefined : signed(delta.pass_rate),
      Quality: delta.avg_quality === null ? undefined : signed(delta.avg_quality),
      'p-value': p === null ? undefined : p.toFixed(3),
    })}
  </div>`
}

const TONES: Readonly<Record<string, Tone>> = {
  improved: 'good',
  worse: 'bad',
}

function benchmarkTable(benchmarks: readonly Benchmark[], now: Date) {
  return html`<table class="rows">
    <thead>
      <tr>
        <th>Suite</th>
        <th class="num">Version</th>
        <th class="num">With it</th>
        <th class="num">Without</th>
        <th class="num">Made worse</th>
        <th class="num">Adds</th>
        <th class="num">Run</th>
      </tr>
    </thead>
    <tbody>
      ${benchmarks.map(
        (run) =>
          html`<tr>
            <td>
              <b><bdi>${run.suite}</bdi></b> ${run.voided && badge('void', 'warning')}
              <p class="quiet"><bdi>${run.runner}</bdi></p>
            </td>
            <td class="num"><span class="label">version </span>${run.version_number}</td>
            <td class="num">
              <span class="label">with it </span>${run.passed_cases} of ${run.compared_cases}
            </td>
            <td class="num">
              <span class="label">without </span>${run.passed_without} of ${run.compared_cases}
            </td>
            <td class="num"><span class="label">made worse </span>${run.flipped_to_fail}</td>
            <td class="num">
              ${run.pass_rate_delta_pts === null ? '–' : `${run.pass_rate_delta_pts < 0 ? '−' : '+'}${Math.abs(run.pass_rate_delta_pts).toFixed(1)} points`}
            </td>
            <td class="num quiet">${ago(run.run_at, now)}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

type Use = AnswerOf<typeof showMetrics>['skills'][number]
type Comparison = AnswerOf<typeof compareVersions>
type Benchmark = AnswerOf<typeof listBenchmarks>['benchmarks'][number]
