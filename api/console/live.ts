import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { setTimeout } from 'node:timers/promises'
import { leaveCrowd } from '../concurrency.ts'
import { Answer, endpoint } from '../endpoint.ts'
import type { Endpoint } from '../endpoint.ts'
import { limitReached } from '../rate-limit.ts'
import { html } from './html.ts'
import type { Markup } from './html.ts'
import { visitOf } from './page.ts'
import type { Visit } from './page.ts'

/** A part of a page that is sent anew while it changes. */
export interface Panel {
  readonly markup: Markup
  /** It changes no more. */
  readonly isDone: boolean
}

/** Renders a panel where a page has it; it stays live until it is done. */
export function livePanel(events: string, { markup, isDone }: Panel): Markup {
  return html`<live-region${!isDone && html` src="${events}"`}>${markup}</live-region>`
}

/**
 * The events of a panel: `change` with its markup as JSON whenever that has changed, `end` when it is done.
 * A stream is one request of its key and lasts a minute at most, so that a key that was revoked is answered no
 * longer; a browser opens the next one by itself.
 * @param path below `/console`
 */
export function panelEvents(path: string, show: (visit: Visit) => Promise<Panel>): Endpoint {
  return endpoint('GET', `//console${path}`, {
    summary: `The events of ${path}`,
    access: 'key',
    answers: {},
    async handle(call) {
      const visit = visitOf(call)
      const { isStopping } = call.context
      // What is wrong at the beginning is answered as an error, not as an event.
      const first = await show(visit)
      const { secret = '', principal } = call.request.auth.credentials.user ?? {}
      const release = takePlace(secret, principal?.orgId ?? '')
      const stream = new PassThrough()
      stream.once('close', release)
      call.request.raw.req.once('close', () => stream.destroy())
      const until = performance.now() + STREAM_MS
      const isOver = () => stream.destroyed || isStopping() || performance.now() > until
      void send(stream, first, () => show(visit), isOver)
      leaveCrowd(call.request)
      return new Answer(200, stream, {
        'Content-Type': 'text/event-stream',
        'Cache-Control': 'no-store',
        'X-Accel-Buffering': 'no',
      })
    },
  })
}

async function send(
  stream: PassThrough,
  first: Panel,
  next: () => Promise<Panel>,
  isOver: () => boolean,
) {
  try {
    let sent = ''
    let quietMs = 0
    for (let panel = first; ; panel = await next()) {
      const { text } = panel.markup
      if (text !== sent) {
        stream.write(`event: change\ndata: ${JSON.stringify(text)}\n\n`)
        sent = text
        quietMs = 0
      } else if ((quietMs += EVERY_MS) >= KEEP_MS) {
        // Proxies close what is silent for long.
        stream.write(':\n\n')
        quietMs = 0
      }
      if (panel.isDone) stream.write('event: end\ndata:\n\n')
      if (panel.isDone || isOver()) break
      await setTimeout(EVERY_MS)
      if (stream.writableNeedDrain) await once(stream, 'drain', { signal: unread() })
    }
  } catch {
    // What is wrong is answered to the next stream, which the browser opens by itself.
  }
  stream.end()
  await finished(stream, { signal: unread() }).catch(() => stream.destroy())
}

/** Ends the wait for a client that does not read. */
const unread = () => AbortSignal.timeout(UNREAD_MS)

/**
 * Counts the streams of a session, of an organization and of this process.
 * @returns what gives the place back
 * @throws ApiError 429 where all are taken
 */
function takePlace(session: string, orgId: string) {
  const wanted = [
    { of: session, most: MAX_OF_SESSION },
    { of: orgId, most: MAX_OF_ORGANIZATION },
    { of: 'process', most: MAX_OF_PROCESS },
  ]
  if (wanted.some(({ of, most }) => (places.get(of) ?? 0) >= most)) {
    const detail = 'Too many pages are watched at once; close some'
    throw limitReached('live_pages', 30, 'too_many_at_once', detail)
  }
  for (const { of } of wanted) places.set(of, (places.get(of) ?? 0) + 1)
  return () => {
    for (const { of } of wanted) {
      const left = (places.get(of) ?? 1) - 1
      if (left > 0) places.set(of, left)
      else places.delete(of)
    }
  }
}

/** How many streams are open, by whose they are. */
const places = new Map<string, number>()
const MAX_OF_SESSION = 20
const MAX_OF_ORGANIZATION = 40
const MAX_OF_PROCESS = 200
const EVERY_MS = 700
const KEEP_MS = 20_000
const STREAM_MS = 60_000
const UNREAD_MS = 30_000
