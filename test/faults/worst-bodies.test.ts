import t from 'tap'
import { driveBodies } from '../support/drive-bodies.ts'
import { LONG } from './stage.ts'

// test/api/worst-bodies.test.ts sends some of them.
t.test(
  'F17: every operation with each of the worst bodies that its limits admit',
  { skip: !LONG },
  (t) => driveBodies(t, () => true),
)
