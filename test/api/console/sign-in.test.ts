import { randomBytes } from 'node:crypto'
import t from 'tap'
import { page } from '../../../api/console/page.ts'
import { html } from '../../../api/console/html.ts'
import { routesOf } from '../../../api/serve-endpoint.ts'
import { ANONYMOUS_RATE } from '../../../jobs/rules/org/plan.ts'
import { makeSignInLink } from '../../../ops/sign-in-link.ts'
import { checkPage, visit } from '../../support/console.ts'
import { openService } from '../../support/service.ts'

const ADDRESS = 'http://127.0.0.1:3000'
const USELESS = /A sign-in link works once, within 10 minutes/

t.test('the sign-in page', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  service.server.route(
    routesOf(
      page('/probe/{id?}', {
        area: 'traces',
        show: async () => ({ title: 'Probe', body: html`x` }),
      }),
      service.context,
    ),
  )
  const get = (url: string, headers: Record<string, string> = {}) =>
    service.server.inject({ url, headers })
  /** The page that is shown after signing in. */
  async function nextOf(url: string) {
    const { statusCode, payload } = await get(url)
    t.equal(statusCode, 200, url)
    return /data-then="([^"]*)"/.exec(payload)?.[1]?.replaceAll('&amp;', '&')
  }

  t.test('is where a page leads without a session, and from there back', async (t) => {
    const asked = '/console/probe/a%20b?q=x%26y&status=error'
    const { statusCode, headers } = await get(asked)
    t.equal(statusCode, 303)
    t.equal(await nextOf(String(headers['location'])), asked)
    const over = await get(asked, { cookie: 'service_session=over' })
    t.match(over, { statusCode: 303, headers: { location: /^\/console\/sign-in\?next=/ } })
    const shown = await get(asked, { authorization: `Bearer ${org.key}` })
    t.match(shown, { statusCode: 200, payload: /Probe/ })
  })

  t.test('says how a first key is made', async (t) => {
    const { text } = await visit(service, undefined, '/console/sign-in')
    t.match(text, /npx node ops\/admin\.ts org create --name NAME --plan pro/)
  })

  t.test('leads nowhere but to pages of the console', async (t) => {
    for (const next of [
      '//evil.example/console/x',
      '/\\evil.example',
      '\\\\evil.example',
      'https://evil.example/console/x',
      'javascript:alert(1)',
      '/docs',
      '/console',
      '/console/../x',
      '/console/./x',
      '/console/a/../../x',
      '/console/%2e%2e/x',
      '/console/%2E%2E/x',
      '/console/..%2fx',
      '/console/..%5cx',
      '/console//evil.example',
      '/console/\\evil.example',
      '/console/a\nb',
      '/console/\tx',
      '/console/x#y',
      '/console/{name}',
      '/console/x?y={name}',
      '/console/sign-in',
      '/console/sign-in/x',
      ' /console/x',
      '',
    ]) {
      const url = `/console/sign-in?next=${encodeURIComponent(next)}`
      t.equal(await nextOf(url), '/console/traces', JSON.stringify(next))
    }
    t.equal(await nextOf('/console/sign-in?next=/console/a&next=/console/b'), '/console/traces')
    t.equal(await nextOf('/console/sign-in?next=%2Fconsole%2Fa%3Fb%3Dc'), '/console/a?b=c')
  })

  t.test('is where any other path leads, too, and none is answered as JSON', async (t) => {
    for (const path of ['/console/none', '/console/traces/a/b/c', '/console/assets/x']) {
      const asked = await get(path)
      t.match(asked, {
        statusCode: 303,
        headers: { location: `/console/sign-in?next=${encodeURIComponent(path)}` },
      })
      const page = await visit(service, org.key, path)
      t.equal(page.status, 404)
      t.match(page.text, /^Not found 404 Page not found Request [\w-]+ · not_found/)
      t.equal(page.document.querySelector('[aria-current]'), null)
      await checkPage(t, page)
    }
  })

  t.test('and all else of the console is no part of the interface', async (t) => {
    t.notMatch((await get('/openapi.json')).payload, '/console')
  })
})

t.test('a sign-in link', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const makeLink = async () => {
    const link = await makeSignInLink(service.sql, ADDRESS, org.key)
    return (link ?? '').slice(ADDRESS.length)
  }
  const browser = { 'sec-fetch-site': 'none', 'sec-fetch-dest': 'document', host: '127.0.0.1:3000' }
  const open = (url: string, headers: Record<string, string> = browser, more: object = {}) =>
    service.server.inject({ url, headers, ...more })
  const refused = { statusCode: 403, payload: USELESS, headers: { 'set-cookie': undefined } }

  t.test('opens a session of its key and leads to the traces, once', async (t) => {
    const link = await makeLink()
    t.match(link, /^\/console\/sign-in\/[\w-]{43}$/)
    const opened = await open(link)
    t.match(opened, { statusCode: 303, headers: { location: '/console/traces' } })
    t.equal(opened.headers['cache-control'], 'no-store')
    const cookies = String(opened.headers['set-cookie'])
    t.match(cookies, /^service_session=[\w-]{43}; .*HttpOnly; SameSite=Lax$/)
    const me = await open('/api/v1/auth/me', { cookie: cookies.split(';')[0] ?? '' })
    t.match(JSON.parse(me.payload), { user: { id: org.keyId }, session_expires_at: String })
    t.match(await open(link), refused)
    const [row] = await service.sql<{ n: number }[]>`select count(*)::int as n from sign_in_links`
    t.equal(row?.n, 0)
  })

  t.test('opens one session, however many ask at once', async (t) => {
    const link = await makeLink()
    const answers = await Promise.all(Array.from({ length: 8 }, () => open(link)))
    const opened = answers.filter(({ statusCode }) => statusCode === 303)
    const others = answers.filter(({ statusCode }) => statusCode === 403)
    t.same([opened.length, others.length], [1, 7])
  })

  t.test('is kept as a hash', async (t) => {
    const code = (await makeLink()).split('/').at(-1) ?? ''
    const [row] = await service.sql<{ text: string }[]>`select l::text as text from sign_in_links l`
    t.notMatch(row?.text, code)
    t.notMatch(row?.text, Buffer.from(code).toString('hex'))
  })

  t.test('is in no line of the log, whatever goes wrong', async (t) => {
    const link = await makeLink()
    t.equal((await open(`${link}/more`)).statusCode, 303, 'as any path that is no page')
    await service.sql`alter table sign_in_links rename to gone`
    t.equal((await open(link)).statusCode, 500)
    await service.sql`alter table gone rename to sign_in_links`
    t.equal((await open(link)).statusCode, 303)
    const text = service.logged.join('')
    t.match(text, /"operation":"\/console\/sign-in\/\{code\}".*operation failed/)
    t.notMatch(text, link.split('/').at(-1))
  })

  t.test('does not work when it is wrong, too old, or not the newest of its key', async (t) => {
    const earlier = await makeLink()
    const old = await makeLink()
    t.match(await open(earlier), refused)
    await service.sql`update sign_in_links set expires_at = now()`
    t.match(await open(old), refused)
    for (const code of [randomBytes(32).toString('base64url'), 'x', '%00', 'a'.repeat(5000)]) {
      const answer = await open(`/console/sign-in/${code}`)
      t.match(answer, refused)
      t.match(answer.payload, /<form data-send="POST \/api\/v1\/auth\/session"/)
      t.equal(answer.headers['cache-control'], 'no-store')
    }
  })

  t.test('works on this machine only, and is not used up elsewhere', async (t) => {
    const link = await makeLink()
    const elsewhere: [Record<string, string>, object?][] = [
      [browser, { remoteAddress: '192.0.2.7' }],
      [browser, { remoteAddress: '::ffff:192.0.2.7' }],
      [{ ...browser, host: 'evil.example' }],
      [{ ...browser, host: '127.0.0.1.evil.example' }],
      [{ ...browser, host: 'localhost.evil.example:3000' }],
      ...['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-real-ip'].map(
        (name): [Record<string, string>] => [{ ...browser, [name]: '127.0.0.1' }],
      ),
    ]
    for (const [headers, more] of elsewhere) {
      t.match(await open(link, headers, more), refused, JSON.stringify([headers, more]))
    }
    const here = { ...browser, host: '[::1]:3000' }
    t.equal((await open(link, here, { remoteAddress: '::1' })).statusCode, 303)
  })

  t.test('is not used up by who looks ahead, or led to by another site', async (t) => {
    const link = await makeLink()
    const notOpened: Record<string, string>[] = [
      { purpose: 'prefetch' },
      { 'sec-purpose': 'prefetch;prerender' },
      { 'x-moz': 'prefetch' },
      { 'sec-fetch-dest': 'empty' },
      { 'sec-fetch-dest': 'iframe' },
      { 'sec-fetch-dest': 'image' },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
    ]
    for (const headers of notOpened) {
      t.match(await open(link, { ...browser, ...headers }), refused, JSON.stringify(headers))
    }
    t.equal((await open(link, browser, { method: 'HEAD' })).statusCode, 403)
    t.equal((await open(link, browser, { method: 'POST' })).statusCode, 404)
    t.equal(
      (await open(link, { host: 'localhost:3000' })).statusCode,
      303,
      'an old browser tells nothing',
    )
  })

  t.test('does not outlive its key', async (t) => {
    const { body } = await service
      .client(org.key)
      .post('/api-keys', { label: 'x', scope: 'global' })
    const link = await makeSignInLink(service.sql, ADDRESS, body.raw_key)
    await service.client(org.key).delete(`/api-keys/${body.id}`)
    t.match(await open((link ?? '').slice(ADDRESS.length)), refused)
  })

  t.test('is made only where this machine can open it', async (t) => {
    t.equal(await makeSignInLink(service.sql, 'http://192.0.2.1:3000', org.key), undefined)
    t.equal(await makeSignInLink(service.sql, ADDRESS, 'svc_sk_unknown'), undefined)
  })

  t.test('cannot be guessed without limit', async (t) => {
    const anonymousRate = { ...ANONYMOUS_RATE, perMinute: 1 }
    const limited = await openService(t, { url: service.url, anonymousRate })
    const statuses = []
    for (let n = 0; n < 14; n++) {
      const code = randomBytes(32).toString('base64url')
      const { statusCode } = await limited.server.inject({ url: `/console/sign-in/${code}` })
      statuses.push(statusCode)
    }
    t.ok(statuses.includes(429))
    const link = await limited.server.inject({ url: await makeLink() })
    t.match(link, { statusCode: 429, payload: /Rate limit exceeded/ })
    t.match(link.headers, { 'content-type': /html/, 'retry-after': /^\d+$/ })
  })
})
