import type { AnswerOf } from '../../endpoint.ts'
import { listChangelog } from '../../org/list-changelog.ts'
import { html } from '../html.ts'
import type { Part } from '../html.ts'
import { page } from '../page.ts'
import { ago, emptyState, pager, tabs, withQuery } from '../parts.ts'

const PATH = '/console/changelog'
const TYPES = [
  { type: 'manifest', text: 'Manifests' },
  { type: 'regression', text: 'Regressions' },
  { type: 'training', text: 'Training' },
  { type: 'audit', text: 'Audit' },
] as const

export const listChangelogPage = page('/changelog', {
  area: 'changelog',
  async show({ ask, query, now }) {
    const { types, cursor } = query
    const { events, next_cursor } = await ask(listChangelog, { query: { types, cursor } })
    const all = { text: 'Everything', href: PATH, isCurrent: !types }
    const one = TYPES.map(({ type, text }) => ({
      text,
      href: withQuery(PATH, { types: type }),
      isCurrent: types === type,
    }))
    const days = Map.groupBy(events, ({ occurred_at }) => occurred_at.toISOString().slice(0, 10))
    return {
      title: 'Changelog',
      body: html`${tabs('Kinds of events', [all, ...one])}
      ${
        events.length === 0
          ? nothing(types)
          : [...days].map(
              ([day, ofDay]) =>
                html`<section class="day" aria-labelledby="d${day}">
                  <h2 id="d${day}">${dayName(day)}</h2>
                  <ol>
                    ${ofDay.map((event) => entry(event, now))}
                  </ol>
                </section>`,
            )
      }
      ${pager(PATH, query, next_cursor)}`,
    }
  },
})

function entry(event: Event, now: Date) {
  const { type, title, summary, actor, occurred_at, agent_name } = event
  const link = linkOf(event)
  const heading = html`<bdi>${title}</bdi>`
  return html`<li class="of-${type}">
    <i aria-hidden="true"></i>
    <div>
      <p><b>${link ? html`<a href="${link}">${heading}</a>` : heading}</b></p>
      ${summary !== title && html`<p><bdi>${summary}</bdi></p>`}
      <p class="quiet">
        ${type}${agent_name && html` · <bdi>${agent_name}</bdi>`} · ${whoDid(actor)} ·
        ${ago(occurred_at, now)}
      </p>
    </div>
  </li>`
}

function whoDid({ type, name }: Event['actor']): Part {
  if (type === 'system') return 'by the service'
  return type === 'operator' ? 'by the operator' : html`by <bdi>${name ?? 'a key'}</bdi>`
}

/** The page of what an event is about, where it has one. */
function linkOf({ resource: { type, id }, agent_name, data }: Event): string | undefined {
  if (type === 'manifest') return `/console/manifests/${id}`
  if (type === 'job') return `/console/jobs/${id}`
  if (type === 'dataset_version' && typeof data['dataset_id'] === 'string') {
    return `/console/datasets/${data['dataset_id']}`
  }
  if (type === 'regression_check') return `/console/checks/${id}`
  if (type === 'regression_finding' && agent_name) {
    return withQuery('/console/regressions', { agent_name })
  }
  return undefined
}

function nothing(types: string | undefined) {
  return emptyState(
    types ? 'Nothing of this kind has happened' : 'Nothing has happened yet',
    'New versions of agents, regressions, finished builds, and who changed keys and policies are told here.',
    types && html`<a class="button" href="${PATH}">Everything</a>`,
  )
}

function dayName(day: string) {
  const date = new Date(`${day}T00:00:00Z`)
  return date.toLocaleDateString('en-GB', {
    weekday: 'long',
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
}

type Event = AnswerOf<typeof listChangelog>['events'][number]
