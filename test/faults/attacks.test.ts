import t from 'tap'
import type { Test } from 'tap'
import { ATTACKS } from '../../ops/bench/attack-list.ts'
import { measureAttack } from '../../ops/bench/attack-stage.ts'
import type { AttackFigures } from '../../ops/bench/attack-stage.ts'
import { openTarget } from '../../ops/bench/attack-target.ts'
import { openTestDatabase } from '../support/database.ts'
import { LONG } from './stage.ts'

/**
 * What an attack may cost; the times of others only where the machine does nothing else. Beside other tests a slow
 * machine takes 4 ms for each of 50 requests that come at once; a body that freezes the loop takes seconds.
 */
const RSS_MIB = 600
const HOLD_CPU_MS = LONG ? 100 : 500
const NEIGHBOUR_P99_MS = 250
// On a busy machine a request may wait long for a connection.
if (!LONG) process.env['DATABASE_WAIT_SECONDS'] = '60'
const options = { isSmall: !LONG, boundMs: 120_000 }

t.test('attacks: others are served, in little memory and without long holds', async (t) => {
  const database = await openTestDatabase(t)
  await using opened = new AsyncDisposableStack()
  const shared = LONG ? undefined : await openTarget(opened, database)
  for (const attack of ATTACKS) {
    await t.test(attack.name, async (t) => {
      await using own = new AsyncDisposableStack()
      const target = shared ?? (await openTarget(own, database))
      check(t, await measureAttack(target, attack, options))
    })
  }
})

function check(t: Test, figures: AttackFigures) {
  const { broken, rssMib, holdCpuMs, neighbour, statuses } = figures
  t.comment(JSON.stringify(figures))
  t.equal(broken, null, 'it comes to its end')
  t.ok(rssMib <= RSS_MIB, `the API has ${rssMib} MiB`)
  t.ok(holdCpuMs <= HOLD_CPU_MS, `its event loop is held for ${holdCpuMs} ms`)
  t.equal(neighbour.failed, 0, `the other has ${neighbour.asked} answers; ${neighbour.fault}`)
  t.strictSame(
    Object.keys(statuses).filter((status) => !/^([24]\d\d|503)$/.test(status)),
    [],
    'the attacker gets answers that blame it, or 503',
  )
  if (LONG) t.ok(neighbour.p99Ms <= NEIGHBOUR_P99_MS, `p99 of the other is ${neighbour.p99Ms} ms`)
}
