import type { AnswerOf } from '../../endpoint.ts'
import type { showSkillVersion } from '../../skills/show-skill-version.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { badge, plural } from '../parts.ts'

export type Finding = AnswerOf<typeof showSkillVersion>['safety']['findings'][number]

const MAX_LINES = 1000
const MAX_LINE = 500

/**
 * The text of a skill with numbered lines, each with what the safety scan found in it.
 * @param findings of this text alone
 */
export function source(body: string, findings: readonly Finding[] = []): Markup {
  const lines = body.split('\n')
  const found = Map.groupBy(findings, ({ line }) => line)
  const left = lines.length - MAX_LINES
  return html`<div class="source" tabindex="0" role="group" aria-label="Text">
    <ol>
      ${lines.slice(0, MAX_LINES).map((line, i) => {
        const here = found.get(i + 1)
        return html`<li class="${here && 'marked'}">
          <code>${line.slice(0, MAX_LINE)}${line.length > MAX_LINE && '…'}</code
          >${here?.map(findingLine)}
        </li>`
      })}
    </ol>
    ${left > 0 && html`<p class="quiet">${plural(left, 'more line')}</p>`}
  </div>`
}

/** What was found, where there is no text to show it in. */
export function findingList(findings: readonly Finding[]): Markup {
  return html`<ul class="scan-findings">
    ${findings.map(
      (finding) =>
        html`<li>
          ${findingLine(finding)}
          <p class="quiet"><bdi>${finding.path}</bdi>, line ${finding.line}</p>
          <code><bdi>${finding.excerpt}</bdi></code>
        </li>`,
    )}
  </ul>`
}

function findingLine({ code, severity, downgraded }: Finding) {
  return html`<p class="scan-finding">
    ${badge(severity, severity === 'critical' ? 'bad' : 'warning')} ${code.replaceAll('_', ' ')}
    ${downgraded && html`<span class="quiet">in an example</span>`}
  </p>`
}
