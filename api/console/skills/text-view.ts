import { listAttachments } from '../../skills/list-attachments.ts'
import { listSkillVersions } from '../../skills/list-skill-versions.ts'
import { showSkillVersion } from '../../skills/show-skill-version.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import type { Visit } from '../page.ts'
import { ago, amount, choice, commandLine, plural, sendButton } from '../parts.ts'
import { sideBySide } from '../side-by-side.ts'
import { bandBadge } from './band-badge.ts'
import type { Skill } from './skill.ts'
import { findingList, source } from './source.ts'

/** The text of a version, or its differences from another one; what the scan found; its files. */
export async function textView(
  { ask, query, now, mayWrite, principal }: Visit,
  skill: Skill,
): Promise<Markup> {
  const { against, version: asked = 'latest' } = query
  const params = { skill_name: skill.id }
  const [version, other, { versions }, { attachments }] = await Promise.all([
    ask(showSkillVersion, { params: { ...params, version_number: asked } }),
    against && ask(showSkillVersion, { params: { ...params, version_number: against } }),
    ask(listSkillVersions, { params, query: { limit: 100 } }),
    ask(listAttachments, { params, query: { version: asked } }),
  ])
  const { safety, version_number: number, id } = version
  const inText = safety.findings.filter(({ path }) => path === 'SKILL.md')
  const elsewhere = safety.findings.filter(({ path }) => path !== 'SKILL.md')
  const options = versions.map((each) => ({
    value: String(each.version_number),
    text: `version ${each.version_number}`,
  }))
  return html`<form class="filters">
      ${choice('version', 'Version', options, query['version'], `newest version, ${skill.latest_version.version_number}`)}
      ${
        versions.length > 1 &&
        choice(
          'against',
          'Compared with',
          options.filter(({ value }) => value !== String(number)),
          against,
          'compared with none',
        )
      }
      <noscript><button class="button">Show</button></noscript>
      <span class="total"
        >${ago(version.created_at, now)}${version.author && html` by <bdi>${version.author}</bdi>`}</span
      >
    </form>
    ${version.change_summary && html`<p class="change"><bdi>${version.change_summary}</bdi></p>`}
    ${other ? sideBySide(other.body_markdown, version.body_markdown, [`Version ${other.version_number}`, `Version ${number}`]) : source(version.body_markdown, inText)}
    <div class="columns">
      <section aria-labelledby="safety">
        <h2 id="safety">Safety ${bandBadge(version.safety_band)}</h2>
        ${whatWasFound(safety, now)} ${elsewhere.length > 0 && findingList(elsewhere)}
        ${other && inText.length > 0 && findingList(inText)}
        ${safety.finding_count > safety.findings.length && html`<p class="quiet">${plural(safety.finding_count - safety.findings.length, 'more finding')}</p>`}
        ${mayWrite && number === skill.latest_version.version_number && sendButton('Scan again', `POST /skills/${skill.id}/checks/run`, { kind: 'small' })}
        ${version.safety_band !== 'passed' && principal.permissions === 'admin' && reviewLine(id)}
      </section>
      <section aria-labelledby="files">
        <h2 id="files">Files</h2>
        ${attachments.length > 0 ? fileTable(skill, attachments, number) : html`<p class="quiet">None beside the text.</p>`}
      </section>
    </div>`
}

function whatWasFound({ finding_count: n, scanned_at: at }: Safety, now: Date) {
  if (at === null) {
    return html`<p class="quiet">It was not scanned yet, which takes a moment after a change.</p>`
  }
  return html`<p class="quiet">
    ${n === 0 ? 'Nothing was found' : plural(n, 'finding')}; scanned ${ago(at, now)} by rules. What
    they find has to be looked at, and what they do not find may still do harm.
  </p>`
}

/** Only who runs the service can decide otherwise than the scan. */
function reviewLine(versionId: string) {
  return html`<details>
    <summary>A person has looked at it</summary>
    <p class="quiet">Who runs the service decides so:</p>
    ${commandLine(`npx node ops/admin.ts skill review ${versionId} \\\n  --band passed --note 'why'`)}
  </details>`
}

function fileTable({ id }: Skill, files: readonly File[], version: number) {
  return html`<table class="rows keep-table">
    <tbody>
      ${files.map(
        ({ path, size_bytes, mode }) =>
          html`<tr>
            <td>
              <a
                class="link"
                href="/api/v1/registry/skills/${id}/files/${path.split('/').map(encodeURIComponent).join('/')}?version=${version}"
                ><bdi>${path}</bdi></a
              >
              ${mode === '0755' && html`<span class="tag">runs</span>`}
            </td>
            <td class="num quiet">${amount(size_bytes, 'bytes')}</td>
          </tr>`,
      )}
    </tbody>
  </table>`
}

type Safety = AnswerOf<typeof showSkillVersion>['safety']
type File = AnswerOf<typeof listAttachments>['attachments'][number]
