import t from 'tap'
import { order } from '../../jobs/rules/core/order.ts'
import { openTestDatabase } from '../support/database.ts'
import { launch } from '../support/program.ts'
import { until } from '../support/until.ts'

t.test('a process writes nothing but lines of JSON', async (t) => {
  const { url } = await openTestDatabase(t)
  const noise = new URL('../support/noise.ts', import.meta.url).href
  const env = { DATABASE_URL: url, NODE_OPTIONS: `--import=${noise}` }
  const scripts: [string, string][] = [
    ['start-api.ts', 'listening'],
    ['start-workers.ts', 'working'],
  ]
  await Promise.all(
    scripts.map(async ([script, ready]) => {
      const process = launch(t, script, env)
      await until(() => process.stderr().includes(`"msg":"${ready}"`))
      t.equal(await process.stop('SIGUSR2'), 1, 'an error that nobody catches ends it')
      t.equal(process.stdout(), '')
      const lines = process
        .stderr()
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as { msg: string })
      // Others may be on their way when the process ends.
      const told = lines
        .filter(({ msg }) => NOISE.test(msg))
        .toSorted((a, b) => order(a.msg, b.msg))
      t.match(told, [
        { level: 40, msg: 'bytes' },
        { level: 30, msg: 'lines of text' },
        { level: 30, msg: 'no end of line' },
        { level: 60, msg: /^nobody/, err: { message: 'nobody catches this', stack: String } },
        { level: 30, msg: 'two' },
        { level: 40, msg: 'warning of Node.js', err: { message: 'something is old' } },
        { level: 40, msg: "{ an: 'object' }" },
      ])
    }),
  )
})

const NOISE = /^(two|lines of text|no end of line|bytes|nobody|warning of Node\.js|\{ an)/
