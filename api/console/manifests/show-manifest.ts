import type { AnswerOf } from '../../endpoint.ts'
import { diffManifests } from '../../manifests/diff-manifests.ts'
import { listManifests } from '../../manifests/list-manifests.ts'
import { listReports } from '../../manifests/list-reports.ts'
import { showManifest } from '../../manifests/show-manifest.ts'
import { html } from '../html.ts'
import { page } from '../page.ts'
import { ago, choice, count, facts, plural, sendButton, stateBadge, withQuery } from '../parts.ts'
import { componentDiff } from './component-diff.ts'

export const showManifestPage = page('/manifests/{manifest_id}', {
  area: 'manifests',
  async show({ ask, params, query, now, mayWrite }) {
    const manifest = await ask(showManifest, { params })
    const against = query['against'] || manifest.parent_manifest_id || undefined
    const [siblings, reports, other, compared] = await Promise.all([
      ask(listManifests, {
        query: { agent_name: manifest.agent_name, project: manifest.project_id, limit: 50 },
      }),
      ask(listReports, { params, query: { limit: 5 } }),
      against === undefined ? undefined : ask(showManifest, { params: { manifest_id: against } }),
      against === undefined ? undefined : ask(diffManifests, { params, query: { against } }),
    ])
    const versions = siblings.manifests.filter(({ id }) => id !== manifest.id)
    const { status } = manifest
    return {
      title: `${manifest.agent_name} ${manifest.version_label}`,
      above: [{ title: 'Manifests', href: '/console/manifests' }],
      beside: mayWrite ? actions(manifest) : undefined,
      body: html`${facts({
          State: stateBadge(status),
          Label: manifest.display_label && html`<bdi>${manifest.display_label}</bdi>`,
          Components: manifest.components_count,
          'Its traces': html`<a
            href="${withQuery('/console/traces', { agent_name: manifest.agent_name, manifest_id: manifest.id, project: manifest.project_id })}"
            >${count(siblings.manifests.find(({ id }) => id === manifest.id)?.traces_count)}</a
          >`,
          Registered: ago(manifest.created_at, now),
          Hash: html`<code>${manifest.manifest_hash.slice(0, 16)}</code>`,
          World: manifest.is_closed_world && 'closed',
        })}
        <section aria-labelledby="components">
          <div class="diff-head">
            <h2 id="components">${other ? `Against ${other.version_label}` : 'Components'}</h2>
            ${
              versions.length > 0 &&
              html`<form>
                ${choice(
                  'against',
                  'Compare with',
                  versions.map(({ id, version_label }) => ({ value: id, text: version_label })),
                  against,
                  'Compare with the one before',
                )}<noscript><button class="button">Compare</button></noscript>
              </form>`
            }
          </div>
          ${compared?.diff && summary(compared.diff)}
          ${componentDiff(other?.components, manifest.components)}
        </section>
        ${reports.reports.length > 0 && reportTable(reports.reports, now)}`,
    }
  },
})

function actions({ id, agent_name, status }: Manifest) {
  return html`${sendButton('Check it', 'POST /regression-check', {
    body: { agent_name, candidate_manifest_id: id },
    then: '/console/checks/{id}',
  })}
  ${status !== 'active' && sendButton('Activate', `POST /manifests/${id}/activate`, { kind: 'primary', confirm: `Make this the active version of ${agent_name}?` })}`
}

function summary({ changed_surfaces: surfaces, summary }: NonNullable<Compared['diff']>) {
  if (surfaces.length === 0) return html`<p class="calm">Nothing has changed.</p>`
  const breaking = summary.breaking_surfaces
  return html`<p class="diff-summary">
    ${plural(summary.total, 'change')}${breaking > 0 && html`, <b class="error">${plural(breaking, 'of them may break', 'of them may break')} something</b>`}:
    ${surfaces.slice(0, 12).map(({ details }) => html`<br /><span class="quiet"><bdi>${details.slice(0, 240)}</bdi></span>`)}
  </p>`
}

function reportTable(reports: AnswerOf<typeof listReports>['reports'], now: Date) {
  return html`<section aria-labelledby="reports">
    <h2 id="reports">What became of traces of the version before</h2>
    <table class="rows">
      <thead>
        <tr>
          <th>State</th>
          <th class="num">Keep</th>
          <th class="num">Repair</th>
          <th class="num">Replay</th>
          <th class="num">Drop</th>
          <th class="num">Analysed</th>
        </tr>
      </thead>
      <tbody>
        ${reports.map(
          ({ status, keep, repair, replay, drop, created_at }) =>
            html`<tr>
              <td>${stateBadge(status)}</td>
              <td class="num">${count(keep)}</td>
              <td class="num">${count(repair)}</td>
              <td class="num">${count(replay)}</td>
              <td class="num">${count(drop)}</td>
              <td class="num quiet">${ago(created_at, now)}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </section>`
}

type Manifest = AnswerOf<typeof showManifest>
type Compared = AnswerOf<typeof diffManifests>
