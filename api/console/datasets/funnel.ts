import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { count } from '../parts.ts'
import type { Version } from './version.ts'

/** From the traces of the project to the rows of the version: what was left after each step, and why. */
export function funnel({ funnel, dropped_counts, row_count, dataset_type }: Version): Markup {
  const steps = stepsOf({ funnel, dropped: dropped_counts ?? {}, rows: row_count ?? 0 })
  const most = Math.max(1, ...steps.map(({ left }) => left ?? 0))
  return html`<section aria-labelledby="funnel" class="funnel">
    <h2 id="funnel">From traces to rows</h2>
    <ol class="card">
      ${steps.map(
        ({ title, left, reasons }) =>
          html`<li>
            ${reasons.length > 0 && lost(reasons, most)}
            ${
              left !== null &&
              html`<div class="step">
                <b>${count(left)}</b> <span>${title}</span>${bar(left / most, 'fill')}
              </div>`
            }
          </li>`,
      )}
    </ol>
    ${!funnel && html`<p class="quiet">An earlier release built this version, and did not count its steps.</p>`}
    ${dataset_type === 'dpo' && html`<p class="quiet">Reasons of pairs count comparisons, of which a trace may have many.</p>`}
  </section>`
}

function lost(reasons: readonly Reason[], most: number) {
  return html`<ul>
    ${reasons.slice(0, MAX_REASONS).map(
      ([code, n]) =>
        html`<li>
          <b>−${count(n)}</b>
          <span title="${code}">${sayReason(code)}</span>${bar(n / most, 'gone')}
        </li>`,
    )}
    ${reasons.length > MAX_REASONS && html`<li class="quiet">and ${reasons.length - MAX_REASONS} rarer reasons</li>`}
  </ul>`
}

function bar(share: number, kind: string) {
  const width = Math.min(100, Math.max(0.4, share * 100)).toFixed(2)
  return html`<svg width="100%" height="10" aria-hidden="true">
    <rect class="track" width="100%" height="10" rx="3" />
    <rect class="${kind}" width="${width}%" height="10" rx="3" />
  </svg>`
}

/** A step's reasons are those by which it left out what the step before it had. */
function stepsOf({ funnel, dropped, rows }: Counted): Step[] {
  const all = Object.entries(dropped).sort(([, a], [, b]) => b - a)
  const isFilter = (code: string) => code.startsWith('filtered.')
  const isEligibility = (code: string) => ELIGIBILITY.test(code)
  const late = all.filter(([code]) => LATE.has(code))
  // Traces that tie splits together are left out before rows are made, and rows after it.
  const bridging = dropped[BRIDGING] ?? 0
  const otherLate = late.reduce((sum, [, n]) => sum + n, 0)
  const lateBridging = funnel ? Math.max(0, funnel.rows_made - rows - otherLate) : 0
  const early: readonly Reason[] = [[BRIDGING, bridging - lateBridging]]
  const making = all.filter(
    ([code]) => !isFilter(code) && !isEligibility(code) && !LATE.has(code) && code !== BRIDGING,
  )
  const some = (reasons: readonly Reason[]) => reasons.filter(([, n]) => n > 0)
  return [
    { title: 'traces of the project', left: funnel?.traces ?? null, reasons: [] },
    {
      title: 'pass the filters',
      left: funnel?.passed ?? null,
      reasons: all.filter(([code]) => isFilter(code)),
    },
    {
      title: 'may give rows of this type',
      left: funnel?.eligible ?? null,
      reasons: all.filter(([code]) => isEligibility(code)),
    },
    {
      title: 'rows made',
      left: funnel?.rows_made ?? null,
      reasons: some([...making, ...early]),
    },
    {
      title: 'rows of the version',
      left: rows,
      reasons: some([...late, [BRIDGING, lateBridging]]),
    },
  ]
}

/** What a reason says, for those that people meet most. */
function sayReason(code: string): string {
  const known = WORDS[code]
  if (known !== undefined) return known
  if (code.startsWith('filtered.')) return `not the ${code.slice(9).replaceAll('_', ' ')} asked for`
  return code
}

const BRIDGING = 'split.bridging'
/** Why a trace that passes the filters gives no row of the type, whatever it says. */
const ELIGIBILITY = /^(policy\.|malformed\.|unrepaired$|unscored$|middling$|no_task$)/
/** Why a row that was made is left out. */
const LATE: ReadonlySet<string> = new Set([
  'duplicate',
  'near_duplicate',
  'split.near_duplicate',
  'max_rows',
  'length_balance',
])
const MAX_REASONS = 12
const WORDS: Readonly<Record<string, string>> = {
  'filtered.agent_name': 'of another agent',
  'filtered.verdicts': 'another verdict',
  'filtered.unjudged': 'not judged yet',
  'filtered.min_eval_score': 'quality too low',
  'filtered.needs_review': 'wait for a person',
  'filtered.manifest_ids': 'of another agent version',
  'filtered.since': 'too old',
  'filtered.until': 'too new',
  unrepaired: 'to repair, and the patch is missing',
  unscored: 'without a score',
  middling: 'neither good nor bad',
  no_task: 'no task to compare by',
  duplicate: 'say the same as a better row',
  near_duplicate: 'almost the same as a better row',
  'split.near_duplicate': 'almost the same as a row of another split',
  'split.bridging': 'would tie two splits together',
  max_rows: 'beyond the largest number of rows',
  length_balance: 'would make chosen turns longer or shorter',
  too_long: 'more tokens than allowed',
  too_many_turns: 'more turns than allowed',
  too_few_turns: 'fewer turns than asked for',
  deleted: 'deleted or changed meanwhile',
  user_divergence: 'attempts differ by what the user said',
  env_divergence: 'attempts differ by what a tool said',
  no_divergence: 'attempts do not differ',
  near_identical: 'attempts hardly differ',
  margin: 'too close in quality',
  length_ratio: 'too different in length',
  no_trainable_turn: 'no turn to learn',
  no_llm_call: 'no call of a model',
}

type Reason = readonly [code: string, n: number]
interface Step {
  readonly title: string
  /** Null where nobody counted. */
  readonly left: number | null
  readonly reasons: readonly Reason[]
}
interface Counted {
  readonly funnel: Version['funnel']
  readonly dropped: Readonly<Record<string, number>>
  readonly rows: number
}
