import { listKeys } from '../../access/list-keys.ts'
import { listSessions } from '../../access/list-sessions.ts'
import type { AnswerOf } from '../../endpoint.ts'
import { listProjects } from '../../org/list-projects.ts'
import { listWorkspaces } from '../../org/list-workspaces.ts'
import { html } from '../html.ts'
import type { Markup } from '../html.ts'
import { ifFound, page } from '../page.ts'
import { ago, badge, plural, sendButton, withQuery } from '../parts.ts'
import { createKeyDialogs } from './create-key.ts'
import { keySessions } from './key-sessions.ts'
import { organizationTabs } from './organization-tabs.ts'

const PATH = '/console/organization/keys'
const PAGE_LENGTH = 50

export const listKeysPage = page('/organization/keys', {
  area: 'organization',
  async show({ ask, query, now, principal }) {
    const offset = Number(query['offset'] ?? 0)
    const opened = query['key']
    const [list, { projects }, { workspaces }, openedSessions] = await Promise.all([
      ask(listKeys, { query: { limit: PAGE_LENGTH, offset } }),
      ask(listProjects, { query: { limit: 200 } }),
      ask(listWorkspaces, { query: { limit: 200 } }),
      opened ? ifFound(ask(listSessions, { params: { key_id: opened } })) : undefined,
    ])
    const names = new Map([...projects, ...workspaces].map(({ id, name }) => [id, name]))
    const isAdmin = principal.permissions === 'admin'
    return {
      title: 'Organization',
      beside: isAdmin
        ? html`<button type="button" class="button primary" data-open="create-key">New key</button>
            ${createKeyDialogs({ projects, workspaces })}`
        : undefined,
      body: html`${organizationTabs('Keys')}
        <p class="quiet held">
          ${plural(list.total, 'key')}. A key is shown once, when it is made; the service keeps its
          hash alone.
        </p>
        ${keyTable(list.api_keys)} ${offsetPager(offset, list.total)}`,
    }

    function keyTable(keys: readonly Key[]): Markup {
      return html`<table class="rows keys" data-rows>
        <thead>
          <tr>
            <th>Label</th>
            <th>Key</th>
            <th>May</th>
            <th>In</th>
            <th>Last used</th>
            <th>Created</th>
            ${isAdmin && html`<th><span class="visually-hidden">Revoke</span></th>`}
          </tr>
        </thead>
        <tbody>
          ${keys.map((key) => keyRow(key))}
        </tbody>
      </table>`
    }

    function keyRow(key: Key) {
      const { id, label, key_prefix, permissions, expires_at, last_used_at, created_at } = key
      const isOwn = id === principal.keyId
      const confirm = isOwn
        ? `Revoke '${label}'? You are signed in by this key, and will be signed out.`
        : `Revoke '${label}'? Whoever uses it is refused from now on.`
      const sessions = id === opened ? openedSessions?.sessions : undefined
      const href = withQuery(PATH, query, { key: sessions ? undefined : id })
      return html`<tr ${sessions && html` class="opened"`}>
          <td class="what">
            <b><bdi>${label}</bdi></b> ${isOwn && html`<span class="tag">yours</span>`}
            ${expires_at && expiry(expires_at, now)}
            <p>
              <a class="link" data-row href="${href}" ${sessions && html` aria-current="true"`}
                >${sessions ? 'Hide sessions' : 'Sessions'}<span class="visually-hidden">
                  of <bdi>${label}</bdi></span
                ></a
              >
            </p>
          </td>
          <td><code>${key_prefix}</code></td>
          <td>${permissions}</td>
          <td>${placeOf(key)}</td>
          <td class="quiet">
            <span class="label">used </span>${last_used_at ? ago(last_used_at, now) : 'never'}
          </td>
          <td class="quiet"><span class="label">made </span>${ago(created_at, now)}</td>
          ${isAdmin && html`<td class="num">${sendButton('Revoke', `DELETE /api-keys/${id}`, { confirm, kind: 'danger' })}</td>`}
        </tr>
        ${
          sessions &&
          html`<tr class="opened">
            <td colspan="${isAdmin ? 7 : 6}">
              ${keySessions(id, sessions, { mayEnd: isAdmin, now })}
            </td>
          </tr>`
        }`
    }

    function placeOf({ scope, project_id, workspace_id }: Key) {
      if (scope === 'global') return 'the whole organization'
      const id = project_id ?? workspace_id ?? ''
      return html`${scope} <bdi>${names.get(id) ?? id}</bdi>`
    }
  },
})

function expiry(at: Date, now: Date) {
  if (at <= now) return badge('expired', 'bad')
  return html`<p class="quiet">expires ${ago(at, now)}</p>`
}

function offsetPager(offset: number, total: number) {
  const link = (text: string, to: number) =>
    html`<a class="button" href="${PATH}?offset=${to}">${text}</a>`
  return html`<nav class="pager" aria-label="Pages">
    ${offset > 0 && link('Newer', Math.max(0, offset - PAGE_LENGTH))}
    ${offset + PAGE_LENGTH < total && link('Older', offset + PAGE_LENGTH)}
  </nav>`
}

type Key = AnswerOf<typeof listKeys>['api_keys'][number]
