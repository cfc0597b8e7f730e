import t from 'tap'
import { afterFault } from '../../../../workers/import/pull/after-fault.ts'
import {
  ProjectUnknown,
  SourceRefused,
  SourceUnreadable,
} from '../../../../workers/import/pull/platform.ts'
import type { PullCursor } from '../../../../workers/import/pull/pull-cursor.ts'
import { NoAnswer } from '../../../../workers/outbound/guarded-fetch.ts'
import type { OutboundFault } from '../../../../workers/outbound/request.ts'

const CURSOR: PullCursor = {
  line: 10,
  bytes: 100,
  attempt: 1,
  isSliceEnd: false,
  from: new Date('2026-11-01T00:00:00Z'),
  to: new Date('2026-11-02T00:00:00Z'),
  rows: 10,
  window_seconds: 86_400,
  limit: 1000,
  waits: 0,
  empty: 0,
  page: 'c',
}
const silence = (fault: OutboundFault) => new NoAnswer('GET', 'platform.test', fault)
const after = (error: unknown, cursor = CURSOR) => afterFault(error, cursor, 0)

t.test('waits in a row are counted', async (t) => {
  t.match(after(new SourceRefused(429, 'Slow', 7)), {
    kind: 'wait',
    seconds: 7,
    cursor: { waits: 1, page: 'c' },
  })
})

t.test('an expired cursor costs half of the window', async (t) => {
  const turn = after(new SourceRefused(400, 'Invalid cursor'))
  t.match(turn, { kind: 'again', cursor: { rows: 0, window_seconds: 43_200, line: 10 } })
  t.same(turn.cursor.to, new Date('2026-11-01T12:00:00Z'))
  t.equal(turn.cursor.page, undefined)
})

t.test('a window of a minute begins again later', async (t) => {
  const minute = { ...CURSOR, to: new Date('2026-11-01T00:01:00Z'), window_seconds: 60 }
  const turn = after(new SourceRefused(410, 'Gone'), minute)
  t.match(turn, { kind: 'retry', error: { code: 'source_cursor_expired', message: 'Gone' } })
  t.match(turn.cursor, { to: minute.to, rows: 0 })
  t.equal(turn.cursor.page, undefined)
})

t.test('what is too large or too slow is asked for in smaller pages', async (t) => {
  t.match(after(silence('too_large')), { kind: 'again', cursor: { limit: 500, page: 'c' } })
  t.match(after(new SourceRefused(413, 'Large')), { kind: 'again', cursor: { limit: 500 } })
  t.match(after(silence('timeout')), { kind: 'retry', cursor: { limit: 500 } })
  t.match(after(new SourceRefused(502, 'Bad')), { kind: 'retry', cursor: { limit: 500 } })
  t.throws(() => after(silence('too_large'), { ...CURSOR, limit: 1 }), {
    code: 'source_page_too_large',
  })
  t.match(after(silence('timeout'), { ...CURSOR, limit: 1 }), { cursor: { limit: 1 } })
})

t.test('lost connections and unreadable answers are tried again', async (t) => {
  for (const fault of ['connection_reset', 'connection_refused', 'dns_error'] as const) {
    t.match(after(silence(fault)), {
      kind: 'retry',
      cursor: CURSOR,
      error: { code: 'source_unavailable' },
    })
  }
  t.match(after(new SourceUnreadable('Not JSON')), { error: { code: 'source_unreadable' } })
})

t.test('what another try does not mend ends the pull', async (t) => {
  t.throws(() => after(silence('blocked_address')), { code: 'blocked_address' })
  t.throws(() => after(new SourceRefused(401, 'No')), { code: 'source_refused', message: 'No' })
  t.throws(() => after(new ProjectUnknown()), {
    code: 'source_project_unknown',
    message: /project/,
  })
})

t.test('an error that is not the platform stays what it is', async (t) => {
  const error = new Error('of ours')
  t.throws(() => after(error), error)
})
