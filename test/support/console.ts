import axe from 'axe-core'
import { JSDOM } from 'jsdom'
import type { PageDocument } from 'jsdom'
import type { Test } from 'tap'
import type { Service } from './service.ts'

/** A page of the console as a key sees it, or as nobody does. */
export async function visit({ server }: Service, key: string | undefined, path: string) {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` }
  const { statusCode, headers: answered, payload } = await server.inject({ url: path, headers })
  const { window } = new JSDOM(payload)
  const { document } = window
  return {
    status: statusCode,
    headers: answered as Record<string, string>,
    markup: payload,
    document,
    /** What a reader sees, with single spaces. */
    text: (document.querySelector('main')?.textContent ?? '').replace(/\s+/g, ' ').trim(),
    /** The texts of the buttons that send a request, outside the menu. */
    actions: [...document.querySelectorAll('main [data-send], main [data-open]')].map(
      ({ textContent }) => textContent.trim(),
    ),
    links: [...document.querySelectorAll('main a')].map((link) => link.getAttribute('href') ?? ''),
  }
}
export type Visited = Awaited<ReturnType<typeof visit>>

/**
 * A page is whole: one heading and one `main`, a title, ids once, no style or script within, and no finding
 * of axe that needs no layout.
 */
export async function checkPage(t: Test, page: Visited) {
  const { document, headers } = page
  t.match(headers, {
    'content-type': /^text\/html/,
    'content-security-policy': /default-src 'none'/,
    'cache-control': 'no-store',
  })
  t.ok(document.title.endsWith('· Console'), document.title)
  t.equal(document.querySelectorAll('main').length, 1)
  t.equal(document.querySelectorAll('h1').length, 1)
  t.equal(document.querySelector('[style], main style, main script, [onclick]'), null)
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  t.equal(new Set(ids).size, ids.length, 'each id once')
  t.same(await findFaults(document), [])
}

/** What axe finds; colours and sizes are looked at in a browser. */
async function findFaults(document: PageDocument) {
  const { violations } = await axe.run(document.documentElement as never, {
    rules: { 'color-contrast': { enabled: false }, 'target-size': { enabled: false } },
  })
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}
