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
  project: 'p',
  page: 'c',
}
const SEARCHING: PullCursor = { ...CURSOR, project: undefined, page: undefined }
const silence = (fault: OutboundFault) => new NoAnswer('GET', 'platform.test', fault)
const after = (error: unknown, cursor = CURSOR, rows = cursor.limit) =>
  afterFault(error, cursor, { rows, chance: 0 })

t.test('waits in a row are counted', async (t) => {
  t.match(after(new SourceRefused(429, 'Slow', 7)), {
    kind: 'wait',
    seconds: 7,
    cursor: { waits: 1, waited_seconds: 7, page: 'c' },
  })
  const waited = { ...CURSOR, waits: 1, waited_seconds: 7 }
  t.match(after(new SourceRefused(429, 'Slow', 9), waited), { cursor: { waited_seconds: 16 } })
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

t.test('lost connections and unreadable answers are tried again, with smaller pages', async (t) => {
  const lost = ['connection_reset', 'connection_refused', 'connection_error'] as const
  for (const fault of lost) {
    t.match(after(silence(fault)), {
      kind: 'retry',
      cursor: { limit: 500, page: 'c' },
      error: { code: 'source_unavailable' },
    })
    t.match(after(silence(fault), { ...CURSOR, limit: 1 }), { cursor: { limit: 1 } })
  }
  t.match(after(silence('dns_error')), { kind: 'retry', cursor: CURSOR })
  t.match(after(new SourceUnreadable('It broke off')), {
    error: { code: 'source_unreadable' },
    cursor: { limit: 500 },
  })
})

t.test('half of what was asked for is asked for, where a list gives fewer', async (t) => {
  t.match(after(silence('too_large'), CURSOR, 100), { cursor: { limit: 50 } })
  t.throws(() => after(silence('too_large'), CURSOR, 1), { code: 'source_page_too_large' })
})

t.test('what is no API of the platform ends the pull before anything is read', async (t) => {
  const message = /base_url/
  t.throws(() => after(new SourceUnreadable('The answer is not JSON'), SEARCHING), {
    code: 'source_unreadable',
    message,
  })
  t.throws(() => after(silence('too_large'), SEARCHING), { code: 'source_unreadable', message })
  t.throws(() => after(new SourceRefused(404, 'No'), SEARCHING), {
    code: 'source_project_unknown',
    message,
  })
  t.throws(() => after(new SourceRefused(422, 'No'), SEARCHING), { code: 'source_rejected' })
  t.match(after(silence('timeout'), SEARCHING), { kind: 'retry', cursor: { limit: 1000 } })
})

t.test('a window that cannot be divided is not asked for again once it is refused', async (t) => {
  const { page: _, ...first } = CURSOR
  const minute = { ...first, to: new Date('2026-11-01T00:01:00Z'), window_seconds: 60 }
  t.match(after(new SourceRefused(422, 'No'), first), { kind: 'again' })
  t.throws(() => after(new SourceRefused(422, 'No'), minute), { code: 'source_rejected' })
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
