import t from 'tap'
import { prepareDatabase } from '../../ops/migrate.ts'
import { checkInvariants } from './invariants.ts'
import { effectJob } from './jobs.ts'
import { openStage } from './stage.ts'

/** That of a release in which the queue library has a newer schema. */
const TOMORROW = 'update pgboss.version set version = version + 1'

t.test('F19: workers older than the schema of the queue', async (t) => {
  const stage = await openStage(t)
  const running = await stage.startWorker([effectJob], { supervise: true })
  const accepted: string[] = []
  async function work(n: number) {
    for (let i = 0; i < 10; i++) accepted.push(await stage.submit(effectJob, n + i))
    await stage.allEnded()
  }
  const findVersion = async () => (await stage.sql`select version from pgboss.version`)[0]
  await work(0)
  await stage.sql.unsafe(TOMORROW)
  const newer = await findVersion()
  await work(10)
  t.pass('go on')

  await stage.stop(running)
  await prepareDatabase(stage.url, { warn: () => undefined }, new AbortController().signal)
  await stage.startWorker([effectJob], { supervise: true })
  await work(20)
  t.pass('start')
  t.same(await findVersion(), newer, 'and leave the schema as it is')
  t.same(stage.fallen(), [])
  await checkInvariants(t, stage.sql, accepted)
})
