// Repeats attacks on an API process of its own, while another organization calls GET /auth/me every 20 ms,
// and prints what each of them cost as a line of JSON:
// [DATABASE_URL=...] node ops/bench/attacks.ts [--attack gzip-bomb ...] [--smoke] [--bound 120]
// Memory is read from /proc. The attacker is at 127.0.0.2, the other at 127.0.0.1.
import { parseArgs } from 'node:util'
import { ATTACKS } from './attack-list.ts'
import { measureAttack } from './attack-stage.ts'
import { openTarget } from './attack-target.ts'
import { withBenchDatabase } from './prepare.ts'

const { values } = parseArgs({
  options: {
    attack: { type: 'string', multiple: true, default: ATTACKS.map(({ name }) => name) },
    smoke: { type: 'boolean', default: false },
    /** Seconds after which an attack is cut off. */
    bound: { type: 'string', default: '120' },
  },
})
const options = { isSmall: values.smoke, boundMs: Number(values.bound) * 1000 }
for (const name of values.attack) {
  const attack = ATTACKS.find((each) => each.name === name)
  if (!attack)
    throw new Error(`There is no attack ${name}: ${ATTACKS.map((a) => a.name).join(', ')}`)
  await withBenchDatabase('attacks', async (bench) => {
    await using opened = new AsyncDisposableStack()
    const target = await openTarget(opened, bench)
    process.stdout.write(`${JSON.stringify(await measureAttack(target, attack, options))}\n`)
  })
}
