import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { pages } from '../../api/console/console.ts'
import { bareEnv } from '../support/bare-env.ts'
import { axeSource, openBrowser, watchComplaints, whyNoBrowser } from '../support/browser.ts'
import { startLangfuse } from '../support/platforms/langfuse-double.ts'
import { PLATFORM_KEY, PROJECT_NAME, PUBLIC_KEY } from '../support/platforms/connection.ts'
import { FIRST_DAY, LAST_DAY, makePlatformTraces } from '../support/platforms/platform-traces.ts'
import { makeFolder, start } from '../support/started.ts'
import { until } from '../support/until.ts'

t.test('the console in a browser', { skip: whyNoBrowser() }, async (suite) => {
  const browser = await openBrowser(suite)
  const DATA_DIR = await makeFolder(suite)
  const service = await start(suite, {
    DATA_DIR,
    SEED: 'demo',
    // The platform that an import reads from is on loopback.
    OUTBOUND_ALLOW_CIDRS: '127.0.0.0/8',
    DATABASE_WAIT_SECONDS: '60',
  })
  // A page that shows running work is loaded anew when that ends.
  await until(() => service.output().includes('The sample data is complete.'))

  suite.test('is entered by the printed link, once', async (t) => {
    const link = /Console +(\S+)/.exec(service.output())?.[1] ?? ''
    const open = async () => {
      const context = await browser.newContext()
      t.teardown(() => context.close())
      const page = await context.newPage()
      await page.goto(link)
      return page
    }
    const first = await open()
    t.equal(first.url(), `${service.address}/console/traces`)
    t.equal(await first.locator('main h1').textContent(), 'Traces')
    const second = await open()
    t.match(await second.getByRole('alert').textContent(), /works once.* start the service again/)
    await second.getByLabel('API key').fill(service.key)
    await second.keyboard.press('Enter')
    await second.waitForURL('**/console/traces')
  })

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

  suite.test('settles doubts by keyboard alone', async (t) => {
    const key = await makeEmptyOrganization()
    const ids = ['right', 'corrected', 'skipped', 'useless']
    const traces = ids.map((trace_id, n) => ({
      trace_id,
      agent_name: 'support',
      started_at: new Date(Date.UTC(2026, 0, 9 - n)).toISOString(),
      llm_calls: [{ rendered_input: [], output: { content: `Answer of ${trace_id}` } }],
      scores: { judge: 0.5 },
    }))
    await call(key, '/traces/batch', traces)
    await call(key, '/traces/batch-decision', { trace_ids: ids })
    const inDoubt = async () =>
      (await call<{ traces: { trace_id: string }[] }>(key, '/traces?needs_review=true')).traces.map(
        ({ trace_id }) => trace_id,
      )
    await until(async () => (await inDoubt()).length === ids.length)
    await signedIn(t, key, async (page) => {
      const { keyboard } = page
      const shows = async (text: string) => {
        await page.locator('main', { hasText: text }).waitFor()
        // Keys are bound by then.
        await page.waitForLoadState()
      }
      await keyboard.press('g')
      await keyboard.press('v')
      await shows('Answer of right')
      await keyboard.press('?')
      t.match(await page.locator('dialog#keys').textContent(), /y\s+Right as it is/)
      await keyboard.press('Escape')
      await keyboard.press('y')
      await shows('Answer of corrected')
      await keyboard.press('c')
      await keyboard.type('It is on its way, y s 1.')
      await keyboard.press('Control+Enter')
      await shows('Answer of skipped')
      await keyboard.press('s')
      await shows('Answer of useless')
      await keyboard.press('u')
      await shows('Answer of skipped')
      await keyboard.press('s')
      await shows('Answer of useless')
      await keyboard.press('1')
      await shows('You have seen them all')
      await until(async () => (await inDoubt()).join() === 'skipped')
      await keyboard.press('s')
      await shows('Answer of skipped')
      t.match(await page.locator('main [role=status]').textContent(), '1 left')
    })
    const verdictOf = async (id: string) => {
      const { verdict, reasons } = await call<Decision>(key, `/traces/${id}/decision`)
      return [verdict, reasons.some(({ code }) => code === 'output.corrected')]
    }
    t.same(await verdictOf('right'), ['keep', false])
    t.same(await verdictOf('corrected'), ['keep', true])
    t.same(await verdictOf('useless'), ['drop', false])
  })

  suite.test('shows how far an import is while it runs', async (t) => {
    const platform = await startLangfuse(t, makePlatformTraces(4), { mostRows: 1 })
    // Each call with a cursor comes behind a row that was stored.
    let [asked, allowed] = [0, 0]
    platform.onCall = async ({ query }) => {
      if (!query.has('cursor')) return undefined
      const n = ++asked
      await until(() => n <= allowed)
      return undefined
    }
    const connection = { base_url: platform.url, project: PROJECT_NAME }
    const keys = { public_key: PUBLIC_KEY, secret_key: PLATFORM_KEY }
    const { import_id: id } = await call<{ import_id: string }>(service.key, '/import', {
      source: 'langfuse',
      connection: { ...connection, ...keys },
      since: FIRST_DAY.toISOString(),
      until: LAST_DAY.toISOString(),
    })
    await signedIn(t, service.key, async (page) => {
      await page.goto(`/console/imports/${id}`)
      await page.evaluate('globalThis.isSameDocument = true')
      const told = page.locator('live-region .quiet').first()
      for (const n of [1, 2, 3]) {
        const before = await told.textContent()
        t.match(before, /\d lines? ·/)
        allowed = n
        await until(async () => (await told.textContent()) !== before)
      }
      t.ok(await page.evaluate('globalThis.isSameDocument'), 'without loading the page anew')
      allowed = Infinity
      await page.locator('main .badge', { hasText: 'succeeded' }).waitFor()
      await page.getByText('See the traces').waitFor()
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

  /** Asks the service with a key: POST with a body, GET without. */
  async function call<Answer>(key: string, path: string, body?: object) {
    const response = await fetch(`${service.address}/api/v1${path}`, {
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        prefer: 'respond-async',
      },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    const answer = (await response.json()) as Answer
    if (!response.ok) throw new Error(`${path}: ${JSON.stringify(answer)}`)
    return answer
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

/**
 * Wide and light, narrow and dark: nothing moves while the page loads, nothing is wider than the window, and axe finds
 * nothing.
 */
async function lookAt(t: Test, page: Page, address: string) {
  for (const [width, colorScheme] of [
    [1280, 'light'],
    [390, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: 850 })
    await page.emulateMedia({ colorScheme })
    const answer = await page.goto(address)
    t.equal(answer?.status(), 200, address)
    t.same(await page.evaluate(findShifts), [], `${address} stands still at ${width} px`)
    await page.evaluate(axeSource)
    const faults = await page.evaluate(findFaults)
    t.same(faults, [], `${address}, ${colorScheme}, ${width} px`)
    const isWider = await page.evaluate('document.documentElement.scrollWidth > innerWidth')
    t.notOk(isWider, `${address} fits into ${width} px`)
  }
}

/**
 * Runs in the page: what has moved since it began to load, until its fonts are there and drawn. A cell that gives way
 * by a pixel, as rows come in on a busy machine, is a thousandth; a tenth is where it begins to bother.
 */
const findShifts = `(async () => {
  const shifts = []
  const note = (list) => list.filter(({ value }) => value > 0.01).forEach(({ value, sources }) =>
    shifts.push(value + ' ' + sources.map(({ node }) => node && (node.className || node.nodeName))))
  const observer = new PerformanceObserver((list) => note(list.getEntries()))
  observer.observe({ type: 'layout-shift', buffered: true })
  await document.fonts.ready
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame)
  note(observer.takeRecords())
  return shifts
})()`

/** Runs in the page. */
async function findFaults() {
  const { axe } = globalThis as unknown as { axe: Axe }
  const { violations } = await axe.run()
  return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html}`)
}

interface Decision {
  readonly verdict: string
  readonly reasons: readonly { readonly code: string }[]
}
interface Axe {
  run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>
}
