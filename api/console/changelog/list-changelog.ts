import type { AnswerOf } from '../../endpoint.ts'
import { CHANGELOG_TYPES, listChangelog } from '../../org/list-changelog.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { page } from '../page.ts'
import { ago, badge, curlLine, emptyState, pager, tabs, withQuery } from '../parts.ts'
import type { Tone } from '../parts.ts'
import { resourcePage } from './resource-page.ts'

const PATH = '/console/changelog'

export const listChangelogPage = page('/changelog', {
  area: 'changelog',
  async show({ ask, query, now, address }) {
    const { types, cursor } = query
    const { events, next_cursor } = await ask(listChangelog, {
      query: { types, cursor, limit: 50 },
    })
    const tab = (word: Event['type'] | undefined) => ({
      text: word ? NAMES[word] : 'All',
      href: withQuery(PATH, { types: word }),
      isCurrent: types === word,
    })
    return {
      title: 'Changelog',
      body: html`${tabs('Types', [undefined, ...CHANGELOG_TYPES].map(tab))}
      ${events.length > 0 ? html`${days(events, now)}${pager(PATH, query, next_cursor)}` : types || cursor ? noMatch() : nothing(address)}`,
    }
  },
})

/** Events by the day they happened on, in UTC. */
function days(events: readonly Event[], now: Date): Markup {
  const byDay = Map.groupBy(events, ({ occurred_at }) => occurred_at.toISOString().slice(0, 10))
  return html`<div class="changelog" data-rows>
    ${[...byDay].map(
      ([day, those]) =>
        html`<section aria-labelledby="day-${day}">
          <h2 id="day-${day}"><time datetime="${day}">${DAY.format(new Date(day))}</time></h2>
          <ol>
            ${those.map((event) => eventItem(event, now))}
          </ol>
        </section>`,
    )}
  </div>`
}

function eventItem(event: Event, now: Date) {
  const { type, title, summary, occurred_at, is_fixture } = event
  const href = resourcePage(event)
  const head = html`<bdi>${title}</bdi>`
  return html`<li>
    <span class="when">${ago(occurred_at, now)}</span>
    ${badge(NAMES[type], TONES[event.event_type] ?? 'plain')}
    <div>
      <p>
        <b>${href ? html`<a data-row href="${href}">${head}</a>` : head}</b
        >${is_fixture && html` <span class="tag">fixture</span>`}
      </p>
      <p class="quiet"><bdi>${summary}</bdi></p>
    </div>
  </li>`
}

function noMatch() {
  return emptyState(
    'Nothing of this type yet',
    'Other types may have events.',
    html`<a class="button" href="${PATH}">Everything</a>`,
  )
}

function nothing(address: string) {
  return emptyState(
    'Nothing has happened yet',
    'Versions of agents, regressions, datasets and changes of keys are told here. Register a version to begin:',
    curlLine(address, 'POST /manifests', {
      agent_name: 'my-agent',
      components: [{ component_type: 'model', component_name: 'large-2' }],
    }),
  )
}

const NAMES: Readonly<Record<Event['type'], string>> = {
  manifest: 'version',
  regression: 'regression',
  audit: 'audit',
  training: 'training',
}
const TONES: Readonly<Record<string, Tone>> = {
  'regression.detected': 'bad',
  'regression.rejected': 'bad',
  'regression.resolved': 'good',
  'regression.accepted': 'good',
  'dataset_version.ready': 'good',
  'training.dataset_stale': 'warning',
  'manifest.activated': 'busy',
  'manifest.reactivated': 'busy',
}
const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeZone: 'UTC' })

type Event = AnswerOf<typeof listChangelog>['events'][number]
