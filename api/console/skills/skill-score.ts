import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, scoreBar } from '../parts.ts'
import type { PublicSkill } from './skill.ts'

/** How well a skill does by its evidence: a lower bound of each kind, and what they come to. */
export function skillScore({ effectiveness, skill_badge: word }: PublicSkill): Markup {
  const { skill_score: score, score_components: legs } = effectiveness
  return html`<section class="card skill-score" aria-labelledby="score">
    <h2 id="score">Score ${badge(word, word === 'verified' ? 'good' : 'plain')}</h2>
    <p class="skill-score-value">${score === null ? 'New' : score.toFixed(2)}</p>
    <dl>
      ${LEGS.map(
        ([name, title, text]) =>
          html`<div>
            <dt>${title}<small class="quiet">${text}</small></dt>
            <dd>${scoreBar(legs[name], title)}</dd>
          </div>`,
      )}
    </dl>
    <p class="quiet">
      Each is the lower bound of what the evidence says, so that little of it cannot come first.
    </p>
  </section>`
}

const LEGS = [
  ['bench', 'Benchmarks', 'cases that pass with it'],
  ['live', 'Traces', 'judged ones that used it'],
  ['rating', 'Ratings', 'by people and models'],
] as const
