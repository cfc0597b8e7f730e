import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { pages } from '../../api/console/console.ts'
import { bareEnv } from '../support/bare-env.ts'
import { axeSource, openBrowser, watchComplaints, whyNoBrowser } from '../support/browser.ts'
import { makeFolder, start } from '../support/started.ts'
import { until } from '../support/until.ts'

// A browser, a dozen processes, and every page in four forms.
t.setTimeout(380_000)

t.test('the console in a browser', { skip: whyNoBrowser() }, async (suite) => {
  const browser = await openBrowser(suite)
  const DATA_DIR = await makeFolder(suite)
  const service = await start(suite, { DATA_DIR, SEED: 'demo' })
  // A page that shows running work is loaded anew when that ends.
  await until(() => service.output().includes('The sample data is complete.'), 120_000)

  suite.test('shows every page of an organization with data', async (t) => {
    await signedIn(t, service.key, async (page) => {
      const seen = await walk(t, page)
      const unseen = pages.map(({ path }) => path.slice(1)).filter((path) => !seen.has(path))
      t.same(unseen, [], 'each page is linked from another one')
    })
  })

  suite.test('shows every page of an organization without data', async (t) => {
    await signedIn(t, await makeEmptyOrganization(), async (page) => void (await walk(t, page)))
  })

  suite.test('shows what a client sent as text', async (t) => {
    const hostile = '<img src=x onerror=alert(1)> <script>alert(2)</script> \u202Egnp.exe'
    await service.post('/traces', {
      trace_id: hostile,
      agent_name: hostile,
      user_input_preview: hostile,
      spans: [{ id: 'a"b', name: hostile, span_type: 'tool', output_preview: hostile }],
    })
    await signedIn(t, service.key, async (page) => {
      page.on('dialog', () => t.fail('a script of the trace ran'))
      await page.goto(`/console/traces/${encodeURIComponent(hostile)}`)
      t.equal(await page.locator('main h1').textContent(), hostile)
      t.equal(await page.locator('main img').count(), 0)
    })
  })

  suite.test('sends the rows and lines of a form as lists', async (t) => {
    await signedIn(t, service.key, async (page) => {
      await page.goto('/console/organization/redaction')
      await page.getByLabel('Name of pattern 2').fill('ticket')
      await page.getByLabel('Pattern 2', { exact: true }).fill('TCK-[0-9]+')
      await page.getByLabel('Left as it is').fill('a, b\n\nc')
      await page.getByRole('button', { name: 'Save' }).click()
      await page.getByText(/Set \d+ s ago/).waitFor()
      t.equal(await page.getByLabel('Name of pattern 1').inputValue(), 'ticket')
      t.match((await service.get('/redaction-settings')).body, {
        patterns: [{ name: 'ticket', pattern: 'TCK-[0-9]+' }],
        keep: ['a, b', 'c'],
      })
    })
  })

  suite.test('is used by keyboard', async (t) => {
    await signedIn(t, service.key, async (page) => {
      await page.keyboard.press('j')
      await page.keyboard.press('j')
      const second = page.locator('[data-row]').nth(1)
      t.ok(await second.evaluate((row) => row === row.ownerDocument.activeElement))
      const href = await second.getAttribute('href')
      await page.keyboard.press('Enter')
      await page.waitForURL(`**${href}`)
      await page.keyboard.press('?')
      t.ok(await page.locator('dialog#keys').isVisible())
      await page.keyboard.press('Escape')
      await page.keyboard.press('g')
      await page.keyboard.press('t')
      await page.waitForURL('**/console/traces')
      await page.keyboard.press('/')
      await page.keyboard.type('refund')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/console/traces?*q=refund*')
      t.pass()
    })
  })

  suite.test('is left by signing out', async (t) => {
    await signedIn(t, service.key, async (page) => {
      await page.getByRole('button', { name: 'Sign out' }).click()
      await page.waitForURL('**/console/sign-in')
      await page.goto('/console/traces?status=error')
      t.match(page.url(), /sign-in\?next=%2Fconsole%2Ftraces%3Fstatus%3Derror$/)
      await page.getByLabel('API key').fill(`${service.key}x`)
      await page.keyboard.press('Enter')
      await page.getByRole('alert').filter({ hasText: 'API key' }).waitFor()
      await page.getByLabel('API key').fill(service.key)
      await page.keyboard.press('Enter')
      await page.waitForURL('**/console/traces?status=error')
    })
  })

  suite.test('replays the traces that are selected by keyboard', async (t) => {
    await signedIn(t, service.key, async (page) => {
      await page.goto('/console/traces?agent_name=support-agent')
      const bar = page.locator('[data-selection]')
      for (const key of ['j', 'x', 'j', 'x']) await page.keyboard.press(key)
      await bar.getByText('2 selected').waitFor()
      await page.keyboard.press('x')
      await bar.getByText('1 selected').waitFor()
      await page.keyboard.press('Escape')
      await bar.waitFor({ state: 'hidden' })
      await page.getByLabel('Select all on this page').check()
      await bar.getByText('50 selected').waitFor()
      await bar.getByRole('button', { name: 'Replay' }).click()
      await page.locator('#replay').getByRole('button', { name: 'Replay' }).click()
      await page.getByRole('heading', { name: 'Replay of support-agent' }).waitFor()
      await page.getByText('Tasks by state').waitFor()
      t.match(page.url(), /\/console\/replay\/[\w-]{36}$/)
    })
  })

  /** Uses a page that is signed in; fails when anything on it goes wrong or is refused. */
  async function signedIn(t: Test, key: string, use: (page: Page) => Promise<void>) {
    const context = await browser.newContext({ baseURL: service.address })
    const complaints = watchComplaints(context)
    const page = await context.newPage()
    await page.goto('/console/sign-in')
    await page.getByLabel('API key').fill(key)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.waitForURL('**/console/traces')
    await use(page)
    t.same(complaints, [])
    await context.close()
  }

  /** @returns its first key */
  async function makeEmptyOrganization() {
    const args = ['ops/admin.ts', 'org', 'create', '--name', 'empty', '--plan', 'enterprise']
    const env = { ...bareEnv(), DATA_DIR }
    const { stdout } = await promisify(execFile)(process.execPath, args, { env })
    return (JSON.parse(stdout) as { api_key: string }).api_key
  }
})

/** Looks at one page of each kind, as far as links lead. @returns the paths of the kinds it has seen */
async function walk(t: Test, page: Page) {
  const seen = new Set<string>()
  const forms = new Set<string>()
  const found = pages.map(({ path }) => path.slice(1)).filter((path) => !path.includes('{'))
  for (let address = found.shift(); address !== undefined; address = found.shift()) {
    const kind = kindOf(address)
    if (kind === undefined) continue
    // A page whose tabs show something else is looked at in each of them.
    const form = `${kind} ${new URLSearchParams(address.split(/[?#]/)[1]).get('show') ?? ''}`
    if (forms.has(form)) continue
    forms.add(form)
    seen.add(kind)
    const answer = await page.goto(address)
    t.equal(answer?.status(), 200, address)
    await lookAt(t, page, address)
    const links = await page
      .locator('main a[href^="/console/"]')
      .evaluateAll((all) => all.map((link) => link.getAttribute('href') ?? ''))
    for (const link of links) found.push(link)
  }
  return seen
}

/** The path of the page that an address leads to, such as `/console/traces/{trace_id}`. */
function kindOf(address: string) {
  const [path = ''] = address.split(/[?#]/)
  const fits = (declared: string) =>
    new RegExp(`^${declared.replace(/\{\w+\}/g, '[^/]+')}$`).test(path)
  // What has fewer placeholders goes first, as in the router.
  return pages
    .map((page) => page.path.slice(1))
    .sort((a, b) => a.split('{').length - b.split('{').length)
    .find(fits)
}

/** In light and dark, wide and narrow: no finding of axe, and nothing that is wider than the window. */
async function lookAt(t: Test, page: Page, address: string) {
  await page.evaluate(axeSource)
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 850 })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      const faults = await page.evaluate(findFaults)
      t.same(faults, [], `${address}, ${colorScheme}, ${width} px`)
    }
    const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
    t.notOk(isWider, `${address} fits into ${width} px`)
  }
}

/** Runs in the page. */
async function findFaults() {
  const { axe } = globalThis as unknown as { axe: Axe }
  const { violations } = await axe.run()
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}

interface Axe {
  run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>
}
