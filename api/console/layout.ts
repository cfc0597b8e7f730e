import type { Principal } from '../principal.ts'
import { assetPath } from './assets.ts'
import { html } from './html.ts'
import type { Markup } from './html.ts'

const MENU = [
  {
    name: 'Observe',
    items: [
      { title: 'Traces', area: 'traces', key: 't' },
      { title: 'Review', area: 'review', key: 'v' },
      { title: 'Agents', area: 'agents', key: 'a' },
    ],
  },
  {
    name: 'Change',
    items: [
      { title: 'Manifests', area: 'manifests', key: 'm' },
      { title: 'Regressions', area: 'regressions', key: 'r' },
      { title: 'Checks', area: 'checks', key: 'c' },
      { title: 'Skills', area: 'skills', key: 's' },
    ],
  },
  {
    name: 'Train',
    items: [
      { title: 'Datasets', area: 'datasets', key: 'd' },
      { title: 'Replay', area: 'replay', key: 'p' },
      { title: 'Imports', area: 'imports', key: 'i' },
    ],
  },
  {
    name: 'Operate',
    items: [
      { title: 'Jobs', area: 'jobs', key: 'j' },
      { title: 'Webhooks', area: 'webhooks', key: 'w' },
      { title: 'Organization', area: 'organization', key: 'o' },
      { title: 'Changelog', area: 'changelog', key: 'l' },
    ],
  },
] as const satisfies readonly { readonly name: string; readonly items: readonly MenuItem[] }[]

interface MenuItem {
  readonly title: string
  /** The address below `/console`. */
  readonly area: string
  /** Leads there after `g`. */
  readonly key: string
}
const ITEMS: readonly MenuItem[] = MENU.flatMap(({ items }) => [...items])

export type AreaName = (typeof MENU)[number]['items'][number]['area']

export interface Shown {
  readonly title: string
  readonly body: Markup
  /** The pages above this one, the outermost first. */
  readonly above?: readonly { readonly title: string; readonly href: string }[]
  /** What stands beside the title, such as buttons. */
  readonly beside?: Markup | undefined
  /** What the keys of this page do, for the list under `?`. */
  readonly keys?: KeyList
}

/** Keys, each with what it does; `1 2 3` stands for three keys. */
export type KeyList = readonly (readonly [keys: string, does: string])[]

/** What is around the content of every page. */
export function frame({
  title,
  body,
  above = [],
  beside,
  keys = [],
  area,
  principal,
}: Shown & { readonly area: AreaName | undefined; readonly principal: Principal | undefined }) {
  return {
    title,
    body: html`<a class="skip" href="#main">Skip to content</a>
      <header class="side">
        <a class="brand" href="/console/traces"
          ><img src="${assetPath('icon.svg')}" alt="" width="22" height="22" />Lifecycle</a
        >
        <nav aria-label="Main" class="menu">
          ${MENU.map(
            ({ name, items }) =>
              html`<h2>${name}</h2>
                <ul>
                  ${items.map((item) => html`<li><a href="/console/${item.area}" data-key="g ${item.key}" ${item.area === area && html` aria-current="page"`}>${item.title}</a></li>`)}
                </ul>`,
          )}
        </nav>
        ${principal && whoIs(principal)}
      </header>
      <main id="main" tabindex="-1">
        <div class="head">
          <div>
            ${
              above.length > 0 &&
              html`<nav aria-label="Breadcrumb" class="crumbs">
                <ol>
                  ${above.map(({ title, href }) => html`<li><a href="${href}">${title}</a></li>`)}
                </ol>
              </nav>`
            }
            <h1><bdi>${title}</bdi></h1>
          </div>
          ${beside && html`<div class="beside">${beside}</div>`}
        </div>
        ${body}
      </main>
      ${keyboardHelp(keys)}`,
  }
}

function whoIs({ orgName, plan, keyLabel, permissions }: Principal): Markup {
  return html`<div class="who">
    <p><b>${orgName}</b> <span class="tag">${plan}</span></p>
    <p class="quiet">${keyLabel} · ${permissions}</p>
    <button
      type="button"
      class="link"
      data-send="DELETE /api/v1/auth/session"
      data-then="/console/sign-in"
    >
      Sign out
    </button>
  </div>`
}

/** The keys of every page and, before them, those of this one. */
function keyboardHelp(own: KeyList): Markup {
  const all: KeyList = [
    ...own,
    ['j k', 'Next, previous row'],
    ['Enter', 'Open the row'],
    ['/', 'Search'],
    ...ITEMS.map(({ title, key }) => [`g ${key}`, title] as const),
    ['?', 'This list'],
  ]
  return html`<dialog id="keys" aria-labelledby="keys-title">
    <h2 id="keys-title">Keyboard</h2>
    <dl>
      ${all.map(
        ([keys, does]) =>
          html`<div>
            <dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd> `)}</dt>
            <dd>${does}</dd>
          </div>`,
      )}
    </dl>
    <form method="dialog"><button class="button">Close</button></form>
  </dialog>`
}
