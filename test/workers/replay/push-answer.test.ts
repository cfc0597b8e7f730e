import t from 'tap'
import { OUTBOUND_FAULTS } from '../../../workers/outbound/request.ts'
import { readPushAnswer } from '../../../workers/replay/push-answer.ts'
import fc from '../../support/property.ts'

const NOW = new Date('2026-01-01T00:00:00Z')
const read = (status: number, headers = {}, cut: 'timeout' | 'no_room' | 'aborted' | null = null) =>
  readPushAnswer({ fault: null, status, headers, body: Buffer.from('{}'), cut }, NOW)

t.test('an answer of a runner means one thing', async (t) => {
  t.same(read(202), { kind: 'taken' })
  t.same(read(202, {}, 'timeout'), { kind: 'taken' }, 'by its status alone')
  t.same(read(200), { kind: 'result', body: Buffer.from('{}') })
  t.same(read(409), { kind: 'declined' })
  t.same(read(410), { kind: 'declined' })
  for (const status of [400, 401, 404, 413, 500, 502, 504]) {
    t.same(read(status), { kind: 'failed', fault: 'http_status' }, `${status}`)
  }
  for (const status of [201, 204, 206]) {
    t.same(read(status), { kind: 'failed', fault: 'unexpected_status' }, `${status}`)
  }
  for (const status of [301, 302, 307, 308]) {
    t.same(read(status), { kind: 'failed', fault: 'redirect' }, `${status}`)
  }
})

t.test('a result that did not come whole is none', async (t) => {
  t.same(read(200, {}, 'timeout'), { kind: 'failed', fault: 'timeout' })
  t.same(read(200, {}, 'no_room'), { kind: 'failed', fault: 'no_room' })
  t.same(read(200, {}, 'aborted'), { kind: 'aborted' })
})

t.test('every fault of a request fails it by its word, but an end of our own', async (t) => {
  for (const fault of OUTBOUND_FAULTS) {
    const expected = fault === 'aborted' ? { kind: 'aborted' } : { kind: 'failed', fault }
    t.same(readPushAnswer({ fault }, NOW), expected, fault)
  }
})

t.test('a runner is asked again when it says so, within bounds', async (t) => {
  const waits: [string | undefined, number][] = [
    [undefined, 30],
    ['', 30],
    ['soon', 30],
    ['-5', 30],
    ['0', 1],
    ['7', 7],
    [' 7 ', 7],
    ['99999999999999999999', 3600],
    ['Thu, 01 Jan 2026 00:01:30 GMT', 90],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 1],
    ['Fri, 01 Jan 2027 00:00:00 GMT', 3600],
  ]
  for (const status of [429, 503]) {
    for (const [header, seconds] of waits) {
      const headers = header === undefined ? {} : { 'retry-after': header }
      t.same(read(status, headers), { kind: 'later', seconds }, `${status} ${header}`)
    }
  }
  fc.assert(
    fc.property(fc.string(), (header) => {
      const answer = read(503, { 'retry-after': header })
      return (
        answer.kind === 'later' &&
        Number.isInteger(answer.seconds) &&
        answer.seconds >= 1 &&
        answer.seconds <= 3600
      )
    }),
  )
})
