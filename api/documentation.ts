import type { Server } from '@hapi/hapi'
import inert from '@hapi/inert'
import vision from '@hapi/vision'
import swagger from 'hapi-swagger'
import type { Endpoint } from './endpoint.ts'
import { INTERFACE_VERSION } from './core/interface-version.ts'
import { describeInterface } from './openapi.ts'

/**
 * The OpenAPI document at `/openapi.json`, and hapi-swagger's page to read it and try it out at
 * `/docs`. The document is written by `openapi.ts`, because hapi-swagger
 * leaves out a part of what joi schemas say; its own document is at a path that nothing links to. The
 * root redirects to the page.
 */
export async function serveDocumentation(server: Server, operations: readonly Endpoint[]) {
  await server.register([inert, vision, { plugin: swagger, options: PAGE }] as never)
  server.route({
    method: 'GET',
    path: '/',
    handler: (_, h) => h.redirect(PAGE.documentationPath),
  })
  let document: string | undefined
  server.route({
    method: 'GET',
    path: DOCUMENT_PATH,
    handler: (_, h) => {
      document ??= JSON.stringify(describeInterface(operations, INTERFACE_VERSION))
      return h.response(document).type('application/json')
    },
  })
}

const DOCUMENT_PATH = '/openapi.json'
const PAGE = {
  OAS: 'v3.0',
  info: { title: 'Agent Dataset Lifecycle Service', version: INTERFACE_VERSION },
  jsonPath: DOCUMENT_PATH,
  jsonRoutePath: '/docs/routes.json',
  documentationPath: '/docs',
  swaggerUIPath: '/docs/ui/',
  routesBasePath: '/docs/ui/',
  validatorUrl: null,
}
