import { server as hapiServer } from '@hapi/hapi'
import inert from '@hapi/inert'
import vision from '@hapi/vision'
import { createHash } from 'node:crypto'
import swagger from 'hapi-swagger'
import { staticFile } from './static-file.ts'
import type { StaticFile } from './static-file.ts'

export interface PageOptions {
  readonly title: string
  readonly version: string
  /** Path of the OpenAPI document it shows. */
  readonly documentPath: string
}

/**
 * hapi-swagger's page at `/docs` and the files it loads, by path. A server that listens nowhere renders
 * them once, because hapi-swagger renders, reads and compresses anew for every request.
 */
export async function renderPage({ title, version, documentPath }: PageOptions) {
  const server = hapiServer()
  const options = {
    OAS: 'v3.0',
    info: { title, version },
    jsonPath: documentPath,
    jsonRoutePath: '/unused.json',
    documentationPath: PAGE_PATH,
    swaggerUIPath: FILES_PATH,
    routesBasePath: FILES_PATH,
    validatorUrl: null,
  }
  await server.register([inert, vision, { plugin: swagger, options }] as never)
  await server.initialize()
  const files = new Map<string, StaticFile>()
  const page = await read(PAGE_PATH)
  const html = page.bytes.toString()
  files.set(
    PAGE_PATH,
    staticFile(page.type, page.bytes, {
      'Cache-Control': 'no-cache',
      'Content-Security-Policy': contentPolicy(html),
    }),
  )
  for (const [, path = ''] of html.matchAll(/(?:src|href)="([^"]+)"/g)) {
    const { type, bytes } = await read(path)
    files.set(path, staticFile(type, bytes, { 'Cache-Control': 'public, max-age=3600' }))
  }
  await server.stop()
  return files

  async function read(url: string) {
    const { statusCode, headers, rawPayload } = await server.inject({ url })
    if (statusCode !== 200) throw new Error(`The documentation has no ${url}: ${statusCode}`)
    return { type: String(headers['content-type']), bytes: rawPayload }
  }
}

/** The page's own files and the script and style written in it; no other origin, and no inline handlers. */
function contentPolicy(html: string) {
  const inline = (element: string) =>
    [...html.matchAll(new RegExp(`<${element}>(.*?)</${element}>`, 'gs'))]
      .map(([, text = '']) => ` 'sha256-${createHash('sha256').update(text).digest('base64')}'`)
      .join('')
  return [
    "default-src 'none'",
    `script-src 'self'${inline('script')}`,
    `style-src 'self'${inline('style')} ${LOGO_STYLE}`,
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

/** Of the style that the logo of swagger-ui 5.35 brings along; without it the logo is black. */
const LOGO_STYLE = "'sha256-RL3ie0nH+Lzz2YNqQN83mnU0J1ot4QL7b99vMdIX99w='"
const PAGE_PATH = '/docs'
const FILES_PATH = '/docs/ui/'
