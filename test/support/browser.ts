import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { chromium } from 'playwright-core'
import type { BrowserContext } from 'playwright-core'
import type { Test } from 'tap'

/** Where Debian's packages have it; CHROMIUM names another one. */
const PLACES = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium', '/usr/bin/google-chrome']
const HOW =
  'there is no Chromium: install it (on Debian: apt-get install --no-install-recommends chromium-headless-shell), or name one as CHROMIUM'

/** The Chromium of this machine; undefined where there is none. */
export function findBrowser(): string | undefined {
  return process.env['CHROMIUM'] ?? PLACES.find((place) => existsSync(place))
}

/**
 * Why tests in a browser are skipped; false where they are not. With BROWSER=required they fail instead.
 */
export function whyNoBrowser(): string | false {
  return findBrowser() === undefined && process.env['BROWSER'] !== 'required' && HOW
}

/** A browser that ends with the test. */
export async function openBrowser(t: Test) {
  const executablePath = findBrowser()
  if (executablePath === undefined) throw new Error(HOW)
  const browser = await chromium.launch({ executablePath, args: ['--disable-gpu'] })
  t.teardown(() => browser.close())
  return browser
}

/**
 * What a page complained of: errors of scripts, of loading, and of the content policy. That a key was
 * refused, which a browser reports as well, is the page's to tell.
 */
export function watchComplaints(context: BrowserContext): string[] {
  const complaints: string[] = []
  context.on('weberror', (error) => complaints.push(error.error().message))
  context.on('console', (message) => {
    if (message.type() === 'error' && !/status of 401/.test(message.text()))
      complaints.push(message.text())
  })
  return complaints
}

/** The source of axe, to be evaluated in a page. */
export const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)
