import { randomUUID } from 'node:crypto'
import t from 'tap'
import {
  buildDataset,
  openDatasetService,
  pathOf,
  readJsonl,
  readParquet,
  withoutNulls,
} from '../../support/built-dataset.ts'
import type { Row } from '../../support/built-dataset.ts'
import type { JudgedTrace } from '../../support/stored-traces.ts'
import { tool } from '../../support/training-rows.ts'

const FIND = tool('find', { type: 'object' })
const SEARCH = tool('search', { type: 'object' })
const calling = (name: string) => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id: 'x', function: { name, arguments: '{}' } }],
})
const saying = (content: string) => ({ role: 'assistant', content })

/** An answer to a question under the instructions and tools of an old version or of a new one. */
function asked(under: 'old' | 'new', turn: object, question = 'Where is it?') {
  return {
    messages: [
      { role: 'system', content: `The ${under} way` },
      { role: 'user', content: question },
      turn,
    ],
    tools: [under === 'old' ? FIND : SEARCH],
  }
}
/** @param task_id its own task */
const replayOf = (source: string, task_id: string | null = null) => ({
  source_type: 'replayed',
  metadata: { original_trace_id: source },
  task_id,
})

t.test('pairs of traces and their replays', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const { sql } = service
  type Org = Awaited<ReturnType<typeof openOrganization>>

  const sidesOf = ({ provenance }: Row) => [provenance.trace_id, provenance.rejected?.trace_id]
  async function pairsOf(traces: readonly JudgedTrace[]) {
    const { api } = await openOrganization(traces)
    const version = await buildDataset(api, 'dpo')
    const rows = await readJsonl(api, version)
    const sources = rows.map(({ provenance }) => provenance.pair_source)
    return { pairs: rows.map(sidesOf), sources, dropped: version.dropped_counts }
  }

  /** A batch with a task of each trace, ended by its replay. Returns the ids of both. */
  async function storeTasks({ orgId, projectId }: Org, tasks: readonly Task[]) {
    const batch_id = randomUUID()
    await sql`
      insert into replay_batches (org_id, project_id, id, agent_name, mode, is_linked, expires_at)
      values (${orgId}, ${projectId}, ${batch_id}, 'agent', 'pull', true, now())`
    const ids: string[] = []
    for (const [ordinal, { trace_id, replay, status, outcome }] of tasks.entries()) {
      const id = randomUUID()
      ids.push(id)
      await sql`
        insert into replay_tasks (org_id, project_id, batch_id, id, ordinal, trace_id, replayability,
          status, replayed_trace_id, comparison, created_at, ended_at)
        values (${orgId}, ${projectId}, ${batch_id}, ${id}, ${ordinal}, ${trace_id}, 'full', ${status},
          ${replay}, jsonb_build_object('outcome', ${outcome}::text), now(), now())`
    }
    return { batch_id, ids }
  }
  interface Task {
    readonly trace_id: string
    readonly replay: string
    readonly status: 'completed' | 'failed'
    readonly outcome: string | null
  }

  t.test('say what the replay was given, whichever of the two was better', async (t) => {
    const org = await openOrganization([
      { trace_id: 'bad', quality: 0, ...asked('old', calling('find')) },
      { trace_id: 'bad again', quality: 1, ...asked('new', calling('search')), ...replayOf('bad') },
      { trace_id: 'good', ...asked('old', saying('It is here'), 'Where?') },
      {
        trace_id: 'good again',
        quality: 0,
        ...asked('new', calling('search'), 'Where?'),
        ...replayOf('good'),
      },
      { trace_id: 'tool gone', ...asked('old', calling('find'), 'And now?') },
      {
        trace_id: 'tool gone again',
        quality: 0,
        ...asked('new', calling('search'), 'And now?'),
        ...replayOf('tool gone'),
      },
    ])
    const { batch_id, ids } = await storeTasks(org, [
      { trace_id: 'bad', replay: 'bad again', status: 'completed', outcome: 'win' },
      { trace_id: 'bad', replay: 'bad again', status: 'failed', outcome: 'loss' },
      { trace_id: 'another', replay: 'good again', status: 'completed', outcome: 'tie' },
    ])
    const version = await buildDataset(org.api, 'dpo')
    const rows = await readJsonl(org.api, version)
    t.same(version.dropped_counts, { tool_lacking: 1 })
    t.same(rows.map(sidesOf), [
      ['bad again', 'bad'],
      ['good', 'good again'],
    ])
    const [win, loss] = rows as [Row, Row]
    for (const { prompt, tools, provenance } of [win, loss]) {
      t.equal(prompt[0]?.content, 'The new way')
      t.equal(prompt.length, 2)
      t.same(tools, [SEARCH])
      t.match(provenance, { pair_source: 'replay', tools_from: 'calls', repaired: false })
    }
    t.match(win.chosen, [calledBy('search')])
    t.match(win.rejected, [calledBy('find')])
    t.match(loss.chosen, [{ content: 'It is here' }])
    t.same(win.provenance.replay, { batch_id, task_id: ids[0], outcome: 'win' })
    t.notOk('replay' in loss.provenance, 'it is the result of no task')
    t.same(withoutNulls(await readParquet(service, org.key, version)), withoutNulls(rows))
    const { body } = await org.api.get(`${pathOf(version)}/rows`)
    t.match(body.rows[0].provenance.replay, { batch_id, outcome: 'win' })
  })

  t.test('have no tools that only the rejected side called', async (t) => {
    const { api } = await openOrganization([
      { trace_id: 'bad', quality: 0, ...asked('old', calling('find')), tools: [] },
      { trace_id: 'good', ...asked('new', calling('search')), tools: [], ...replayOf('bad') },
    ])
    const [row] = (await readJsonl(api, await buildDataset(api, 'dpo'))) as [Row]
    t.same([row.tools, row.provenance.tools_from], [[SEARCH], 'seen'])
    t.match(row.rejected, [calledBy('find')])
  })

  t.test('are made whatever tasks the two are of', async (t) => {
    const bad = { quality: 0, ...asked('old', saying('It is not here')) }
    const good = asked('new', saying('It is right here'))
    const tasks = [
      [null, null],
      ['its task', null],
      ['its task', 'its task'],
      ['its task', 'another task'],
      [null, 'another task'],
    ] as const
    for (const [task_id, own] of tasks) {
      const found = await pairsOf([
        { trace_id: 'source', task_id, ...bad },
        { trace_id: 'replay', ...good, ...replayOf('source', own) },
      ])
      const of = JSON.stringify([task_id, own])
      t.same(found.pairs, [['replay', 'source']], of)
      t.same([found.sources, found.dropped], [['replay'], {}], of)
    }
  })

  t.test('are made by the parent of a replay where nothing else names its source', async (t) => {
    const bad = { quality: 0, ...asked('old', saying('It is not here')) }
    const good = asked('new', saying('It is right here'))
    const parent = { parent_trace_id: 'source' }
    const found = await pairsOf([
      { trace_id: 'source', ...bad },
      { trace_id: 'replay', ...good, source_type: 'replayed', ...parent },
    ])
    t.same([found.pairs, found.sources], [[['replay', 'source']], ['replay']])
    const others = await pairsOf([
      { trace_id: 'source', ...bad },
      { trace_id: 'child', ...good, ...parent },
    ])
    t.same([others.pairs, others.dropped], [[], { no_task: 2 }], 'a child is no replay')
  })

  t.test('are made along a line of replays, each with the one before it', async (t) => {
    const found = await pairsOf([
      { trace_id: 'first', quality: 0, ...asked('old', saying('It is not here')) },
      { trace_id: 'second', ...asked('new', saying('It is right here')), ...replayOf('first') },
      {
        trace_id: 'third',
        quality: 0,
        ...asked('old', saying('It is nowhere')),
        ...replayOf('second'),
      },
      {
        trace_id: 'fourth',
        ...asked('old', saying('It is right there')),
        ...replayOf('third', 'task'),
      },
    ])
    t.same(found.pairs, [
      ['fourth', 'first'],
      ['fourth', 'third'],
      ['second', 'first'],
      ['second', 'third'],
    ])
    t.same(found.sources, ['attempts', 'replay', 'replay', 'replay'])
  })

  t.test('need a source that is told of: replays alone are attempts at its task', async (t) => {
    const gone = replayOf('gone')
    const found = await pairsOf([
      { trace_id: 'one', ...asked('new', saying('It is right here')), ...gone },
      { trace_id: 'two', quality: 0, ...asked('new', saying('It is not here')), ...gone },
      { trace_id: 'alone', ...asked('new', saying('It is alone')) },
      { trace_id: 'round', ...asked('new', saying('Round')), ...replayOf('trip') },
      { trace_id: 'trip', quality: 0, ...asked('new', saying('Trips')), ...replayOf('round') },
    ])
    t.same([found.pairs, found.sources], [[['one', 'two']], ['attempts']])
    t.same(found.dropped, { no_task: 1, unpaired: 2 })
  })

  t.test('have both sides in one split', async (t) => {
    const count = 40
    const traces = Array.from({ length: count }, (_, n) => [
      {
        trace_id: `source ${n}`,
        quality: 0,
        session_id: n % 2 ? `session ${n}` : null,
        ...asked('old', saying('It is not here'), `${n}`),
      },
      {
        trace_id: `replay ${n}`,
        session_id: `run ${n}`,
        ...asked('new', saying('It is right here'), `${n}`),
        ...replayOf(`source ${n}`, n % 4 === 3 ? `own ${n}` : null),
      },
    ]).flat()
    const org = await openOrganization(traces)
    const options = { length_balance: false }
    const version = await buildDataset(org.api, 'dpo', {
      split: { train: 0.5, validation: 0.2, test: 0.3 },
      options,
    })
    const bridging = version.dropped_counts['split.bridging'] ?? 0
    t.same(version.dropped_counts, { 'split.bridging': bridging, unpaired: bridging })
    t.ok(bridging < count / 4, 'only replays with a task of their own can be in another split')
    t.equal(version.row_count + bridging, count)
    t.ok(Object.values(version.split_counts).every((n) => n > 0))
  })
})

function calledBy(name: string) {
  return { role: 'assistant', tool_calls: [{ function: { name } }] }
}
