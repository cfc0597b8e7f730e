import t from 'tap'
import { driveBodies } from '../../support/drive-bodies.ts'

// test/api/worst-bodies.test.ts sends some of them.
t.test('every operation with each of the worst bodies that its limits admit', (t) =>
  driveBodies(t, () => true),
)
