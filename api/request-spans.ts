import { context, SpanKind, trace } from '@opentelemetry/api'
import type { Span } from '@opentelemetry/api'
import type { Request, Server } from '@hapi/hapi'
import { contextOf } from '../jobs/spans.ts'
import { statusOf } from './access-log.ts'

/**
 * Gives each request but those of probes a span, from its arrival to the end of its answer, which goes on
 * from the `traceparent` of the request.
 */
export function traceRequests(server: Server) {
  const tracer = trace.getTracer('agent-dataset-lifecycle')
  server.ext('onPreAuth', (request, h) => {
    const { route, method, info, app, headers } = request
    if (route.settings.app?.operation?.tag === 'health') return h.continue
    const name = `${method.toUpperCase()} ${route.path}`
    const attributes = {
      'http.request.method': method.toUpperCase(),
      'http.route': route.path,
      'adl.request_id': info.id,
    }
    const options = { kind: SpanKind.SERVER, startTime: info.received, attributes }
    app.span = tracer.startSpan(name, options, contextOf(headers))
    return h.continue
  })
  server.events.on('response', (request) => {
    const { span, org_id } = request.app
    span?.setAttribute('http.response.status_code', statusOf(request))
    if (org_id) span?.setAttribute('adl.org_id', org_id)
    span?.end()
  })
}

/** Does something within the span of a request. */
export function inSpanOf<T>({ app: { span } }: Request, act: () => T): T {
  return span ? context.with(trace.setSpan(context.active(), span), act) : act()
}

declare module '@hapi/hapi' {
  interface RequestApplicationState {
    /** Not set for a request of a probe. */
    span?: Span
  }
}
