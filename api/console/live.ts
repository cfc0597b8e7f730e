import { PassThrough } from 'node:stream'
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
 * A stream is one request of its key, however long it lasts; a browser opens the next one by itself.
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
      const release = takePlace(call.request.auth.credentials.user?.secret ?? '')
      const stream = new PassThrough()
      call.request.raw.req.once('close', () => stream.destroy())
      const until = performance.now() + STREAM_MS
      const isOver = () => stream.destroyed || isStopping() || performance.now() > until
      void send(stream, first, () => show(visit), isOver).finally(release)
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
    }
  } catch {
    // What is wrong is answered to the next stream, which the browser opens by itself.
  } finally {
    stream.end()
  }
}

/**
 * Counts the streams of a session and of this process.
 * @returns what gives the place back
 * @throws ApiError 429 where all are taken
 */
function takePlace(session: string) {
  const own = places.get(session) ?? 0
  const all = [...places.values()].reduce((sum, n) => sum + n, 0)
  if (own >= MAX_OF_SESSION || all >= MAX_OF_PROCESS) {
    const detail = 'Too many pages are watched at once; close some'
    throw limitReached('live_pages', 30, 'too_many_at_once', detail)
  }
  places.set(session, own + 1)
  return () => {
    const left = (places.get(session) ?? 1) - 1
    if (left > 0) places.set(session, left)
    else places.delete(session)
  }
}

/** The streams that are open, by the secret of their caller. */
const places = new Map<string, number>()
const MAX_OF_SESSION = 20
const MAX_OF_PROCESS = 200
const EVERY_MS = 700
const KEEP_MS = 20_000
const STREAM_MS = 10 * 60_000
