import type { AnswerOf } from '../../endpoint.ts'
import { listRegistryAttachments } from '../../skills/list-registry-attachments.ts'
import { showRegistrySkill } from '../../skills/show-registry-skill.ts'
import { showSkill } from '../../skills/show-skill.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ifFound, page } from '../page.ts'
import { ago, amount, badge, count, facts, sendButton } from '../parts.ts'
import { bandBadge } from './band-badge.ts'
import type { PublicSkill } from './skill.ts'
import { skillScore } from './skill-score.ts'
import { REGISTRY, SKILLS } from './skill-tabs.ts'
import { source } from './source.ts'

export const showPublicSkillPage = page('/registry/{skill_id}', {
  area: 'skills',
  async show({ ask, params, now, mayWrite }) {
    const [skill, { attachments }, own] = await Promise.all([
      ask(showRegistrySkill, { params }),
      ask(listRegistryAttachments, { params }),
      ifFound(ask(showSkill, { params: { skill_name: params['skill_id'] } })),
    ])
    const { skill_id: id, installed_as: copy, safety, benchmark_summary: bench } = skill
    return {
      title: skill.registry_name,
      above: [
        { title: 'Skills', href: SKILLS },
        { title: 'Registry', href: REGISTRY },
      ],
      beside:
        own?.id === id
          ? html`<a class="button" href="${SKILLS}/${id}">Your own skill</a>`
          : copy
            ? html`<a class="button" href="${SKILLS}/${copy}">Installed as ${copy}</a>`
            : mayWrite
              ? sendButton('Install', `POST /registry/skills/${id}/fork`, {
                  kind: 'primary',
                  then: `${SKILLS}/{skill.id}`,
                })
              : undefined,
      body: html`<p class="description"><bdi>${skill.description}</bdi></p>
        ${facts({
          Version: html`${skill.version_number} ${bandBadge(skill.skill_safety)}`,
          Author: skill.author_display_name && html`<bdi>${skill.author_display_name}</bdi>`,
          Stability: skill.stability !== 'stable' && badge(skill.stability, 'warning'),
          Installed: count(skill.install_count),
          Category: skill.category && html`<bdi>${skill.category}</bdi>`,
          Tags:
            skill.tags.length > 0 &&
            skill.tags.map((tag) => html`<span class="tag">${tag}</span> `),
          Published: ago(skill.published_at, now),
        })}
        <div class="evidence">
          ${skillScore(skill)}
          <section aria-labelledby="safety">
            <h2 id="safety">Safety</h2>
            <p>${safety.summary}</p>
            ${safety.reason_codes.length > 0 && html`<p>${safety.reason_codes.map((code) => html`${badge(code.replaceAll('_', ' '), 'warning')} `)}</p>`}
            ${
              bench &&
              html`<h2>Benchmark</h2>
                <p>
                  ${bench.passed_cases} of ${bench.total_cases} cases pass with
                  it${bench.pass_rate_delta_pts !== null && `, ${bench.pass_rate_delta_pts < 0 ? '−' : '+'}${Math.abs(bench.pass_rate_delta_pts).toFixed(1)} points against without`}${bench.never_hurt && '; none fails that passes without'}.
                </p>`
            }
            <h2>Versions</h2>
            ${versionList(skill, now)}
          </section>
        </div>
        <section aria-labelledby="text">
          <h2 id="text">Text</h2>
          ${source(skill.body_markdown)}
        </section>
        ${attachments.map((file) => fileText(file))}`,
    }
  },
})

function versionList({ versions }: PublicSkill, now: Date): Markup {
  return html`<ul class="public-versions">
    ${versions.slice(0, 10).map(({ version_number: n, change_summary: summary, published_at }) => html`<li><b>${n}</b> <bdi>${summary}</bdi> <span class="quiet">${ago(published_at, now)}</span></li>`)}
  </ul>`
}

function fileText({ path, size_bytes, content_text: text }: File): Markup {
  return html`<details class="file">
    <summary><bdi>${path}</bdi> <span class="quiet">${amount(size_bytes, 'bytes')}</span></summary>
    ${text === null ? html`<p class="quiet">It is not text, or too long to be shown.</p>` : source(text.slice(0, MAX_FILE))}
  </details>`
}

/** Characters of a file that are shown. */
const MAX_FILE = 20_000

type File = AnswerOf<typeof listRegistryAttachments>['attachments'][number]
