import type { Page } from 'playwright-core'
import t from 'tap'
import type { Test } from 'tap'
import { writeDocument } from '../../../api/console/document.ts'
import { html } from '../../../api/console/html.ts'
import type { Markup } from '../../../api/console/html.ts'
import { commandLine } from '../../../api/console/parts.ts'
import { openBrowser, whyNoBrowser } from '../../support/browser.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('the modules of the console in a browser', { skip: whyNoBrowser() }, async (suite) => {
  const service = await openService(suite)
  const browser = await openBrowser(suite)

  suite.test('send no key from where no session is kept', async (t) => {
    const org = await service.makeOrganization()
    const page = await open(t)
    const sent = countOf(page, '/api/v1/auth/session')
    await page.goto(`${INSECURE}/console/sign-in`)
    await page.getByLabel('API key').fill(org.key)
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('Signing in needs HTTPS').waitFor()
    t.equal(sent(), 0)
    await page.goto(`${LOOPBACK}/console/sign-in`)
    await page.getByLabel('API key').fill(org.key)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/console/traces')
    t.equal(sent(), 1)
  })

  suite.test('select a text that the browser does not let them copy', async (t) => {
    const page = await open(t)
    await show(page, () => commandLine('npm start'))
    await page.goto(`${INSECURE}/probe`)
    await page.getByRole('button', { name: 'Copy' }).click()
    await page.getByRole('button', { name: 'Selected' }).waitFor()
    t.equal(await page.evaluate('String(getSelection())'), 'npm start')
  })

  suite.test('show a page anew when nobody is writing on it', async (t) => {
    const form = html`<form class="form">
      <label>First<input /></label><label>Second<input /></label><button>Go</button>
    </form>`
    const inDialog = html`<button data-open="form">Open</button>
      <dialog id="form">${form}</dialog>`
    for (const body of [form, inDialog]) {
      const page = await open(t)
      const ended = Promise.withResolvers<void>()
      let loads = 0
      await show(page, () => html`${body}<live-region${++loads === 1 && html` src="/events"`} />`)
      await page.route('**/events', async (route) => {
        await ended.promise
        await route.fulfill({ contentType: 'text/event-stream', body: 'event: end\ndata:\n\n' })
      })
      await page.goto(`${LOOPBACK}/probe`)
      if (body === inDialog) await page.getByRole('button', { name: 'Open' }).click()
      await page.getByLabel('First').fill('typed')
      ended.resolve()
      await page.waitForTimeout(LONG_MS)
      await page.keyboard.press('Tab')
      await page.waitForTimeout(LONG_MS)
      t.equal(await page.getByLabel('First').inputValue(), 'typed')
      t.equal(loads, 1)
      if (body === inDialog) await page.keyboard.press('Escape')
      else await page.getByLabel('Second').blur()
      await until(() => loads === 2)
    }
  })

  suite.test('lead to the job of what could not be read back', async (t) => {
    for (const then of ['/console/replay/{id}', '/console/versions/{version.number}']) {
      const page = await open(t)
      await show(
        page,
        () => html`<form data-send="POST /accepted" data-then="${then}"><button>Go</button></form>`,
      )
      await page.route('**/accepted', (route) =>
        route.fulfill({ status: 202, json: { job_id: 'a b' } }),
      )
      await page.goto(`${LOOPBACK}/probe`)
      const followed = page.waitForRequest('**/console/**')
      await page.getByRole('button', { name: 'Go' }).click()
      t.equal((await followed).url(), `${LOOPBACK}/console/jobs/a%20b`)
    }
  })

  suite.test('send a file once, however often its form is sent', async (t) => {
    const page = await open(t)
    await show(
      page,
      () =>
        html`<form data-upload="/taken" data-then="/console/imports/{id}">
          <label>File<input type="file" /></label><button>Import</button>
        </form>`,
    )
    const answered = Promise.withResolvers<void>()
    await page.route('**/taken*', async (route) => {
      await answered.promise
      await route.fulfill({ status: 201, json: { id: 'one' } })
    })
    const sent = countOf(page, '/taken')
    await page.goto(`${LOOPBACK}/probe`)
    await page
      .getByLabel('File')
      .setInputFiles({ name: 'a.jsonl', mimeType: 'text/plain', buffer: Buffer.from('{}') })
    await page.getByRole('button', { name: 'Import' }).focus()
    for (let i = 0; i < 3; i++) await page.keyboard.press('Enter')
    await until(() => sent() > 0)
    const followed = page.waitForRequest('**/console/imports/one')
    answered.resolve()
    await followed
    t.equal(sent(), 1)
  })

  /** A page whose requests the service answers, under whatever address. */
  async function open(t: Test) {
    const context = await browser.newContext()
    t.teardown(() => context.close())
    const page = await context.newPage()
    await page.route('**/*', async (route) => {
      const request = route.request()
      const { host, pathname, search } = new URL(request.url())
      const answer = await service.server.inject({
        method: request.method() as 'GET' | 'POST',
        url: pathname + search,
        headers: { ...(await request.allHeaders()), host },
        payload: request.postDataBuffer() ?? '',
      })
      await route.fulfill({
        status: answer.statusCode,
        headers: answer.headers as Record<string, string>,
        body: answer.rawPayload,
      })
    })
    return page
  }
})

/** Answers `/probe` with a document of the console. */
async function show(page: Page, body: () => Markup) {
  await page.route('**/probe', (route) => {
    const { content, headers, type } = writeDocument({ title: 'Probe', body: body() })
    return route.fulfill({ body: content as string, headers: { ...headers }, contentType: type })
  })
}

/** How many requests a page has sent to a path. */
function countOf(page: Page, path: string) {
  let count = 0
  page.on('request', (request) => {
    if (new URL(request.url()).pathname === path) count++
  })
  return () => count
}

const LOOPBACK = 'http://127.0.0.1:3000'
const INSECURE = 'http://console.example'
/** Longer than it takes until a page that is not written on is shown anew. */
const LONG_MS = 1200
