import { context, diag, DiagLogLevel, propagation, trace } from '@opentelemetry/api'
import { setTimeout as pause } from 'node:timers/promises'
import { traceStatements } from '../sql/core/statement-spans.ts'
import type { Config } from './config.ts'

/**
 * Sends the spans of this process to the collector at OTEL_EXPORTER_OTLP_ENDPOINT. Without one nothing of
 * the SDK is loaded. A collector that is away costs spans and a line of the log now and then.
 * @param name of the service the spans are of, unless OTEL_SERVICE_NAME tells another
 * @returns what sends the spans that are left, in `FLUSH_MS` at most
 */
export async function openTracing(config: Config, name: string, log: Log) {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: share } = config
  if (endpoint === undefined) return async () => {}
  const [sdk, contexts, { W3CTraceContextPropagator }, { OTLPTraceExporter }, resources] =
    await Promise.all([
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/context-async-hooks'),
      import('@opentelemetry/core'),
      import('@opentelemetry/exporter-trace-otlp-http'),
      import('@opentelemetry/resources'),
    ])
  diag.setLogger(tellSeldom(log), { logLevel: DiagLogLevel.WARN })
  const named = resources.resourceFromAttributes({
    'service.name': name,
    'service.namespace': 'agent-dataset-lifecycle',
  })
  const detectors = [resources.resourceAttributesEnvDetector, resources.serviceNameEnvDetector]
  const exporter = new OTLPTraceExporter({ timeoutMillis: EXPORT_MS })
  const provider = new sdk.TracerProvider({
    resource: named.merge(resources.detectResources({ detectors })),
    sampler: new sdk.ParentBasedSampler({ root: new sdk.TraceIdRatioBasedSampler(share) }),
    spanProcessors: [new sdk.BatchSpanProcessor({ exporter })],
  })
  context.setGlobalContextManager(new contexts.AsyncLocalStorageContextManager())
  propagation.setGlobalPropagator(new W3CTraceContextPropagator())
  trace.setGlobalTracerProvider(provider)
  traceStatements()
  return async () => {
    const sent = provider.shutdown().then(
      () => true,
      () => false,
    )
    if (!(await Promise.race([sent, pause(FLUSH_MS, false, { ref: false })]))) log.warn({}, LOST)
  }
}

/** What the SDK says of itself, which is that spans were lost, at most once in `SELDOM_MS`. */
function tellSeldom(log: Log) {
  let toldAt = Number.NEGATIVE_INFINITY
  function tell(detail: string) {
    if (performance.now() - toldAt < SELDOM_MS) return
    toldAt = performance.now()
    log.warn({ detail }, LOST)
  }
  const nothing = () => undefined
  return { error: tell, warn: tell, info: nothing, debug: nothing, verbose: nothing }
}

const LOST = 'spans are lost: the collector does not take them'
/** Of an export with its retries; less than a process that stops waits for what is still open. */
const EXPORT_MS = 4000
const FLUSH_MS = 2000
const SELDOM_MS = 60_000

interface Log {
  warn(fields: object, message: string): void
}
