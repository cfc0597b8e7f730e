import t from 'tap'
import { driveBodies } from '../support/drive-bodies.ts'

// test/faults/long/worst-bodies.test.ts sends all of them.
t.test('the worst body of an operation holds nobody up and takes little memory', (t) =>
  driveBodies(t, (path, name) => TRIED.test(name) && (isFirst(path) || !OF_EACH.test(name))),
)

const TRIED =
  /^a |longest$|^unknown: wide|^metadata: a text of escapes|^one JSON|^traces of (a long|many)|^more|^spans (of (a trace|texts|one)|as)/
/** Every operation has these, and one reader takes them for all. */
const OF_EACH = /^unknown:/
/** The operations on a whole resource: one or two of each area. */
const isFirst = (path: string) => /^\/[^/]+$/.test(path)
