import t from 'tap'
import { openListener } from '../../../sql/core/listener.ts'
import { openTestDatabase } from '../../support/database.ts'
import { openProxy } from '../../support/proxy.ts'
import { until } from '../../support/until.ts'

t.test('a listener', async (t) => {
  const { url, sql } = await openTestDatabase(t)
  const proxy = await openProxy(t, url)
  const said: string[] = []
  const log = {
    info: (_: object, message: string) => void said.push(message),
    warn: (_: object, message: string) => void said.push(message),
  }
  const listener = openListener(proxy.url, sql, log)
  t.teardown(() => listener.close())
  const heard: string[] = []
  let listening = 0
  await listener.listen(
    'news',
    (payload) => heard.push(payload),
    () => listening++,
  )
  const hears = async (word: string) => {
    await sql`select pg_notify('news', ${word})`
    return heard.includes(word)
  }

  t.test('hears what is sent to its channels', async (t) => {
    await until(() => hears('one'))
    await until(() => listener.isHearing())
    t.ok(listening >= 1)
  })

  t.test('hears again within 20 seconds when its connection dies without a word', async (t) => {
    const before = listening
    t.ok(proxy.swallow('listener') >= 1)
    await until(() => hears('two'))
    t.ok(listening > before, 'and tells that something was missed')
  })

  t.test('hears again when its connection is terminated', async (t) => {
    const before = listening
    await sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'listener' and datname = current_database()`
    await until(() => hears('three'))
    t.ok(listening > before)
  })
})
