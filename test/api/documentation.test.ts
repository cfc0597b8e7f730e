import t from 'tap'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { createHash } from 'node:crypto'
import { ANONYMOUS_RATE } from '../../jobs/rules/org/plan.ts'
import { openService } from '../support/service.ts'

t.test('documentation', async (t) => {
  const { server } = await openService(t)
  const get = (url: string, headers = {}) => server.inject({ url, headers })
  const page = await get('/docs')
  const files = [...page.payload.matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, url]) => url as string,
  )
  const all = ['/docs', '/openapi.json', ...files]

  t.test('comes compressed as the client likes it', async (t) => {
    for (const url of all) {
      const plain = await get(url)
      t.equal(plain.headers['content-encoding'], undefined)
      for (const [accepted, encoding, inflate] of [
        ['gzip, deflate, br', 'br', brotliDecompressSync],
        ['br;q=0, gzip', 'gzip', gunzipSync],
      ] as const) {
        const { headers, rawPayload } = await get(url, { 'accept-encoding': accepted })
        t.match(headers, { 'content-encoding': encoding, vary: /accept-encoding/i }, url)
        t.ok(inflate(rawPayload).equals(plain.rawPayload), `${url} is the same`)
        t.equal(headers['content-length'], rawPayload.length)
      }
      const deflated = await get(url, { 'accept-encoding': 'deflate' })
      t.equal(deflated.headers['content-encoding'], undefined, 'nothing is compressed anew')
    }
  })

  t.test('is compressed once, however often it is asked for', async (t) => {
    const ask = () => get('/docs/ui/swagger-ui-bundle.js', { 'accept-encoding': 'br' })
    await ask()
    const before = process.cpuUsage()
    await Promise.all(Array.from({ length: 100 }, ask))
    const { user } = process.cpuUsage(before)
    t.ok(user < 2_000_000, `${user} µs of a processor, where compressing takes 4 s`)
  })

  t.test('is not sent again to who has it', async (t) => {
    for (const url of all) {
      for (const encoding of ['br', 'gzip', 'identity']) {
        const { headers } = await get(url, { 'accept-encoding': encoding })
        t.match(headers, { etag: /^"[^"]+"$/, 'cache-control': /./ }, `${url} in ${encoding}`)
        const having = { 'accept-encoding': encoding, 'if-none-match': headers['etag'] }
        const again = await get(url, having)
        t.same([again.statusCode, again.payload], [304, ''])
        t.equal(again.headers['etag'], headers['etag'])
        const other = await get(url, { ...having, 'if-none-match': '"other"' })
        t.equal(other.statusCode, 200)
      }
    }
  })

  t.test('lets the page run its own scripts and nothing else', async (t) => {
    const policy = String(page.headers['content-security-policy'])
    t.match(policy, /default-src 'none'/)
    t.notMatch(policy, /unsafe|\*|https?:/)
    const inline = page.payload.matchAll(/<(script|style)>(.*?)<\/\1>/gs)
    for (const [, element, text = ''] of inline) {
      const hash = createHash('sha256').update(text).digest('base64')
      t.ok(policy.includes(`'sha256-${hash}'`), element as string)
    }
    t.notMatch(page.payload, / on[a-z]+=| style=|javascript:/)
    t.equal(page.headers['x-content-type-options'], 'nosniff')
  })

  t.test('has no other files', async (t) => {
    for (const url of [
      '/docs/ui/none.js',
      '/docs/ui/..%2f..%2fpackage.json',
      '/docs/routes.json',
    ]) {
      t.match(await get(url), { statusCode: 404, payload: /"code":"not_found"/ }, url)
    }
    t.equal((await get('/docs/')).statusCode, 200)
  })
})

t.test('whoever has no key', async (t) => {
  const { server } = await openService(t, {
    anonymousRate: { ...ANONYMOUS_RATE, perMinute: 1 },
    trustedProxies: '127.0.0.1',
  })
  const get = (url: string, address: string) =>
    server.inject({ url, headers: { 'x-forwarded-for': address } })

  t.test('loads the whole page within the limit', async (t) => {
    const page = await get('/docs', '198.51.100.1')
    const files = [...page.payload.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, url]) => url)
    for (const url of ['/', ...files, '/openapi.json']) {
      t.match((await get(url as string, '198.51.100.1')).statusCode, /^(200|302)$/, url as string)
    }
  })

  t.test('is limited at every open path but those of health and the way to sign in', async (t) => {
    const paths = [
      '/',
      '/docs',
      '/docs/ui/swagger-ui-bundle.js',
      '/openapi.json',
      '/nowhere',
      '/api/v1/nowhere',
      '/api/v1/traces/skill-rater/config',
    ]
    for (const [i, url] of paths.entries()) {
      const answers = []
      for (let n = 0; n < 14; n++) answers.push(await get(url, `203.0.113.${i}`))
      const refused = answers.filter(({ statusCode }) => statusCode === 429)
      t.ok(refused.length > 0, url)
      t.match(refused[0]?.headers, { 'retry-after': /^\d+$/, 'x-quota-exceeded': 'rate_limit' })
    }
    const { payload } = await server.inject({ url: '/console/sign-in' })
    const [, style = ''] = /"(\/console\/assets\/[^"]+css)"/.exec(payload) ?? []
    for (const url of ['/livez', '/readyz', '/health', '/version', '/console/sign-in', style]) {
      const answers = []
      for (let n = 0; n < 14; n++) answers.push((await get(url, '203.0.113.100')).statusCode)
      t.notOk(answers.includes(429), url)
      t.notOk(answers.includes(404), url)
    }
  })
})
