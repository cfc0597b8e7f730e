import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import type { Test } from 'tap'
import { LONG } from '../faults/stage.ts'
import { bareEnv } from '../support/bare-env.ts'
import { openService } from '../support/service.ts'
import type { Service } from '../support/service.ts'
import { tool } from '../support/manifests.ts'
import { until } from '../support/until.ts'
import { prepareReplayHandler } from '../../workers/replay/prepare-replay.ts'

const RUNNERS = 3
const KILLING_MS = LONG ? 60_000 : 2000
/** More than runners finish meanwhile. */
const TASKS = LONG ? 2000 : 80
/** Leases are of one second: some runs need a longer one. */
const AGENT =
  'sleep "$(( $$ % 7 == 0 ))".$(( $$ % 4 )); echo \'{"trace":{"final_output_preview":"done"},"eval_score":0.9}\''

t.test('runners that are killed and started again at random replay each trace once', async (t) => {
  const service = await openService(t)
  const { sql } = service
  await sql.unsafe(WITNESSES)
  await service.startWorkers([prepareReplayHandler])
  const asked = watchRunners(service)
  await service.server.start()
  const { batchId, org } = await makeBatch(service)
  const random = seeded(Number(process.env['FC_SEED'] ?? 1))
  const runners = Array.from({ length: RUNNERS }, () => startRunner(t, service, org.key))

  const allEnded = async () =>
    (await sql`select from replay_tasks where ended_at is not null`).length === TASKS
  /** Whether a lease was taken over, or no task is left of which one could be. */
  const isEnough = async () =>
    (await sql`select from changes where is_taken limit 1`).length === 1 || allEnded()

  let kills = 0
  const end = performance.now() + KILLING_MS
  for (; performance.now() < end || !(await isEnough()); kills++) {
    await setTimeout(100 + random() * 500)
    const place = Math.floor(random() * RUNNERS)
    await runners[place]?.stop('SIGKILL')
    runners[place] = startRunner(t, service, org.key)
  }
  await until(allEnded)
  // Before it asks for tasks, a runner may not yet listen for signals.
  await until(() => runners.every(({ name }) => asked.has(name)))
  for (const runner of runners) {
    t.equal(await runner.stop('SIGTERM'), 0, `a runner stops: ${runner.stderr().slice(-200)}`)
  }

  const ends = await sql<{ status: string; reason: string | null; n: number }[]>`
    select status, reason, count(*)::int as n from replay_tasks group by 1, 2 order by 1`
  t.comment(`${kills} kills`, ends)
  t.equal(
    ends.reduce((sum, { n }) => sum + n, 0),
    TASKS,
  )
  t.same(
    ends.filter(({ status, reason }) => status !== 'completed' && reason !== 'lease_lost'),
    [],
    'only tasks whose runner was killed three times have failed',
  )
  const completed = ends.find(({ status }) => status === 'completed')?.n ?? 0
  t.ok(completed > TASKS / 2, `${completed} are completed`)
  t.equal(
    (await service.client(org.key).get(`/replay/batches/${batchId}`)).body.status,
    'completed',
  )

  const taken = await sql`select id from changes where was_leased_for > interval '0' and is_taken`
  t.same(taken, [], 'no lease was taken while it held')
  const [retaken] = await sql`select count(*)::int as n from changes where is_taken`
  t.ok(retaken?.['n'] > 0, `${retaken?.['n']} leases of killed runners were taken over`)
  const ended = await sql`select id from changes where is_end group by id having count(*) <> 1`
  t.same(ended, [], 'each task has ended once')
  t.same(await sql`select id from changes where had_ended`, [], 'and was left alone from then on')

  const replays = await sql`
    select metadata->'replay'->>'task_id' as task_id, count(*)::int as n from traces
    where org_id = ${org.orgId} and source_type = 'replayed' group by 1`
  t.equal(replays.length, completed, 'each completed task has its trace')
  t.same(
    replays.filter(({ n }) => n !== 1),
    [],
    'and no other',
  )
  const [usage] = await sql`
    select current::int from usage where org_id = ${org.orgId} and metric = 'traces_ingested'`
  t.equal(usage?.['current'], TASKS + completed, 'the quota counts each trace')
})

/** An agent with two versions, traces of the first, and a batch that runs them as the second. */
async function makeBatch(service: Service) {
  const org = await service.makeOrganization()
  const { post } = service.client(org.key)
  const version = async (name: string) =>
    (await post('/manifests', { agent_name: 'agent', components: [tool(name, {})] })).body
      .manifest_id as string
  const manifest_id = await version('search')
  const target_manifest_id = await version('find')
  const ids = Array.from({ length: TASKS }, (_, i) => `t${i}`)
  for (let start = 0; start < ids.length; start += 1000) {
    const traces = ids.slice(start, start + 1000).map((id) => ({
      id,
      agent_name: 'agent',
      manifest_id,
      user_input_preview: `question ${id}`,
      final_output_preview: `answer ${id}`,
    }))
    await post('/traces/batch', traces)
  }
  const { body } = await post('/replay/batches', { target_manifest_id, trace_ids: ids })
  return { org, batchId: body.id as string }
}

function startRunner(t: Test, { server }: Service, key: string) {
  const command = ['--concurrency', '4', '--lease', '1', '--', 'sh', '-c', AGENT]
  const child = spawn(process.execPath, ['ops/runner.ts', ...command], {
    env: { ...bareEnv(), BASE: `${server.info.uri}/api/v1`, KEY: key },
  })
  let stderr = ''
  child.stderr.on('data', (text: Buffer) => (stderr += text.toString()))
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  t.teardown(() => child.kill('SIGKILL'))
  return {
    name: `${hostname()}:${child.pid}`,
    stderr: () => stderr,
    stop(signal: NodeJS.Signals) {
      child.kill(signal)
      return ended
    },
  }
}

/** The names of the runners that have asked for tasks. */
function watchRunners({ server }: Service) {
  const names = new Set<unknown>()
  server.events.on('response', ({ payload }) => {
    names.add((payload as { worker_id?: string } | null | undefined)?.worker_id)
  })
  return names
}

/** Numbers from 0 to 1, the same for a seed (Park and Miller). */
function seeded(seed: number) {
  let state = seed
  return () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647
}

/** Every change of a task. */
const WITNESSES = `
  create table changes (id uuid not null, is_taken boolean not null, was_leased_for interval,
    is_end boolean not null, had_ended boolean not null);
  create function witness_change() returns trigger language plpgsql as $$ begin
    insert into changes values (new.id,
      old.status = 'leased' and new.status = 'leased' and old.lease_token <> new.lease_token,
      old.leased_until - now(), old.ended_at is null and new.ended_at is not null,
      old.ended_at is not null);
    return null;
  end $$;
  create trigger witness_change after update on replay_tasks for each row
    execute function witness_change();
`
