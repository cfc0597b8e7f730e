import { SpanKind, trace } from '@opentelemetry/api'
import { markFailed } from '../../jobs/spans.ts'
import { openDatabase } from './db.ts'

/**
 * From now on each statement that is sent within a span has a span of its own, with its text, in which
 * parameters are `$1`, `$2`. The driver has no hooks for it; all its queries, those of transactions
 * included, are sent by one method, which is replaced. Those read by a cursor have no span: they are sent
 * in parts, between which others work.
 */
export function traceStatements() {
  const tracer = trace.getTracer('agent-dataset-lifecycle')
  const sent: Sent = Object.getPrototypeOf(openDatabase('postgres://never.connected')`select 1`)
  const { handle } = sent
  sent.handle = function () {
    if (!this.executed && !this.cursorFn && trace.getActiveSpan()?.isRecording()) begin(this)
    return handle.call(this)
  }

  function begin(query: Sent) {
    const span = tracer.startSpan('statement', { kind: SpanKind.CLIENT, attributes: DATABASE })
    const { resolve, reject } = query
    function end() {
      // Put together as it is sent.
      const text = query.string ?? ''
      span.updateName(/^\s*(\w+)/.exec(text)?.[1]?.toLowerCase() ?? 'statement')
      span.setAttribute('db.query.text', text.slice(0, MAX_TEXT))
      span.end()
    }
    query.resolve = (result) => {
      end()
      resolve(result)
    }
    query.reject = (error) => {
      markFailed(span, error)
      end()
      reject(error)
    }
  }
}

const DATABASE = { 'db.system.name': 'postgresql' }
const MAX_TEXT = 8192

/** What the driver's queries have beside what its types tell. */
interface Sent {
  readonly executed: boolean
  readonly cursorFn?: unknown
  readonly string?: string
  handle(this: Sent): Promise<void>
  resolve: (result: unknown) => void
  reject: (error: unknown) => void
}
