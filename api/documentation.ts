import type { Request, ResponseToolkit, RouteOptions, Server } from '@hapi/hapi'
import { INTERFACE_VERSION } from './core/interface-version.ts'
import { renderPage } from './documentation-page.ts'
import type { Endpoint } from './endpoint.ts'
import { notFound } from './errors.ts'
import { headerOf } from './header.ts'
import { describeInterface, TITLE } from './openapi.ts'
import { answerFile, once, staticFile } from './static-file.ts'

/**
 * The OpenAPI document at `/openapi.json`, and hapi-swagger's page to read it and try it out at
 * `/docs`. The document is written by `openapi.ts`, because hapi-swagger leaves out a part of what joi
 * schemas say. The root leads browsers to the console and other clients to the page. All count against the
 * anonymous limit: the page is eight requests, of which a browser repeats two.
 */
export function serveDocumentation(server: Server, operations: readonly Endpoint[]) {
  const document = once(async () => {
    const described = await describeInterface(operations, INTERFACE_VERSION)
    const bytes = Buffer.from(JSON.stringify(described))
    return staticFile('application/json', bytes, { 'Cache-Control': 'no-cache' })
  })
  async function answerPage(request: Request, h: ResponseToolkit) {
    const file = (await page()).get(request.path.replace(/\/$/, ''))
    if (!file) throw notFound('Path')
    return answerFile(file, request, h)
  }
  server.route([
    {
      method: 'GET',
      path: '/',
      options: PUBLIC,
      handler: (request, h) =>
        h.redirect(prefersPages(request) ? '/console' : '/docs').vary('Accept'),
    },
    { method: 'GET', path: '/docs/{file*}', options: PUBLIC, handler: answerPage },
    {
      method: 'GET',
      path: DOCUMENT_PATH,
      options: PUBLIC,
      handler: async (request, h) => answerFile(await document(), request, h),
    },
  ])
}

/** Whether a client names HTML, and likes nothing named better, as browsers do; other programs take anything. */
function prefersPages(request: Request) {
  const accepted = (headerOf(request, 'accept') ?? '').toLowerCase().split(',')
  const qualities = new Map(
    accepted.map((part) => {
      const [type = '', ...parameters] = part.split(';').map((word) => word.trim())
      const quality = parameters.find((parameter) => parameter.startsWith('q='))
      return [type, quality === undefined ? 1 : Number(quality.slice('q='.length))]
    }),
  )
  const html = qualities.get('text/html') ?? 0
  return html > 0 && html >= Math.max(...qualities.values())
}

const DOCUMENT_PATH = '/openapi.json'
const PUBLIC: RouteOptions = { auth: 'key', app: { access: 'public' } }
/** The same for every server of the process. */
const page = once(() =>
  renderPage({ title: TITLE, version: INTERFACE_VERSION, documentPath: DOCUMENT_PATH }),
)
