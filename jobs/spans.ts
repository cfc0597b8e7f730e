import { context, propagation, ROOT_CONTEXT, SpanStatusCode, trace } from '@opentelemetry/api'
import type { Attributes, Context, Span, SpanKind } from '@opentelemetry/api'

// Without tracing, which ops/tracing.ts turns on, everything of this package does nothing.
const tracer = trace.getTracer('agent-dataset-lifecycle')

export interface SpanOptions {
  readonly kind: SpanKind
  /** Nothing that a client wrote: spans leave the machine, and nobody takes keys out of them. */
  readonly attributes?: Attributes
  /** Default the span that is active. */
  readonly parent?: Context
}

/** Does something within a span, which is active over all its awaits and ends with it. */
export function inSpan<T>(
  name: string,
  { parent = context.active(), ...options }: SpanOptions,
  act: (span: Span) => Promise<T>,
): Promise<T> {
  return tracer.startActiveSpan(name, options, parent, async (span) => {
    try {
      return await act(span)
    } catch (error) {
      markFailed(span, error)
      throw error
    } finally {
      span.end()
    }
  })
}

/** Says what kind of error it was. Its message may hold what a client wrote. */
export function markFailed(span: Span, error: unknown) {
  const { code, name = 'error' }: { code?: string; name?: string } = Object(error)
  span.setAttribute('error.type', code ?? name)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

/** The active span as W3C `traceparent`; undefined where nothing is traced. */
export function currentTraceparent(): string | undefined {
  const carrier: { traceparent?: string } = {}
  propagation.inject(context.active(), carrier)
  return carrier.traceparent
}

/** The context in which spans go on from a `traceparent`, well-formed or not. */
export function contextOf(carrier: { readonly traceparent?: unknown }): Context {
  return propagation.extract(ROOT_CONTEXT, { traceparent: carrier.traceparent })
}
