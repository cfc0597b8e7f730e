import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { judgeTraces } from '../../../sql/transactions/judge-traces.ts'
import { reviseTrace } from '../../../sql/transactions/revise-trace.ts'
import { makeSkill, publishSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'

const HASH = 'ab'.repeat(32)
const OTHER = 'cd'.repeat(32)

t.test('the skills that traces used', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  const { queue } = context

  /** An organization with a client, whose traces are judged by hand. */
  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const { orgId, projectId } = org
    return {
      org,
      client,
      send: (id: string, more: object) => client.post('/traces', { id, agent_name: 'a', ...more }),
      judge: (...ids: string[]) =>
        queue.transaction(sql, (tx: Transaction) => judgeTraces(tx, queue, orgId, projectId, ids)),
      used: async (id: string) =>
        (
          await sql<{ skill_name: string; skill_hash: string }[]>`
            select skill_name, skill_hash from trace_skills
            where org_id = ${orgId} and trace_id = ${id} order by skill_name, skill_hash`
        ).map(({ skill_name, skill_hash }) => [skill_name, skill_hash]),
      due: async () =>
        (
          await sql<{ skill_name: string }[]>`
            select skill_name from skill_scores_due where org_id = ${orgId} order by skill_name`
        ).map(({ skill_name }) => skill_name),
    }
  }

  t.test(
    'are those that were active or loaded, each once, with the hash it is told by',
    async (t) => {
      const { send, judge, used } = await setup()
      await send('t', {
        active_skills: [
          { name: 'hashed', hash: HASH },
          { name: 'prefixed', hash: `sha256:${HASH.toUpperCase()}` },
          { name: 'foreign-hash', hash: 'v12' },
          { name: 'two-bodies', hash: HASH },
          { name: 'two-bodies', hash: OTHER },
          'bare',
        ],
        skills_loaded_by_agent: ['hashed', 'loaded'],
        skills_offered_in_prompt: ['offered'],
        skills_delivered: ['delivered'],
      })
      await judge('t')
      t.same(await used('t'), [
        ['bare', ''],
        ['foreign-hash', ''],
        ['hashed', HASH],
        ['loaded', ''],
        ['prefixed', HASH],
        ['two-bodies', HASH],
        ['two-bodies', OTHER],
      ])
    },
  )

  t.test('have names that skills can have, and are a hundred at most', async (t) => {
    const { send, judge, used } = await setup()
    const names = ['Upper', 'a b', 'a--b', 'x'.repeat(65), 'ok']
    await send('odd', { skills_loaded_by_agent: names })
    const many = Array.from({ length: 150 }, (_, i) => `s${i}`)
    await send('many', { skills_loaded_by_agent: many })
    await judge('odd', 'many')
    t.same(await used('odd'), [['ok', '']])
    t.equal((await used('many')).length, 100)
  })

  t.test(
    'are stored once however often a trace is judged, and not before it has ended',
    async (t) => {
      const { send, judge, used } = await setup()
      const active_skills = [{ name: 'sums', hash: HASH }]
      await send('t', { active_skills })
      await send('running', { active_skills, status: 'running' })
      t.same(await used('t'), [])
      for (let i = 0; i < 3; i++) await judge('t', 'running')
      t.same(await used('t'), [['sums', HASH]])
      t.same(await used('running'), [])
    },
  )

  t.test('are those of the trace as it was revised last', async (t) => {
    const { org, send, judge, used } = await setup()
    await send('t', { skills_loaded_by_agent: ['before', 'both'] })
    await judge('t')
    const key = { org_id: org.orgId, project_id: org.projectId, trace_id: 't' }
    await queue.transaction(sql, (tx: Transaction) =>
      reviseTrace(tx, queue, key, (stored) => ({
        ...stored,
        skills_loaded_by_agent: ['both', 'after'],
      })),
    )
    await judge('t')
    t.same(await used('t'), [
      ['after', ''],
      ['both', ''],
    ])
  })

  t.test('go with the trace', async (t) => {
    const { client, send, judge, used } = await setup()
    await send('t', { skills_loaded_by_agent: ['sums'] })
    await judge('t')
    t.equal((await client.delete('/traces/t')).status, 204)
    t.same(await used('t'), [])
  })

  t.test('are scored anew, those that are public and copies of others', async (t) => {
    const { org, send, judge, due } = await setup()
    const shown = await makeSkill(sql, org.orgId, { name: 'shown' })
    await publishSkill(sql, shown)
    const owner = await service.makeOrganization()
    const upstream = await makeSkill(sql, owner.orgId, { name: 'upstream' })
    await makeSkill(sql, org.orgId, { name: 'copied', forkOf: upstream })
    await makeSkill(sql, org.orgId, { name: 'private' })
    await send('none', {})
    await judge('none')
    t.same(await due(), [])
    await send('t', { skills_loaded_by_agent: ['shown', 'copied', 'private', 'unknown'] })
    await judge('t')
    t.same(await due(), ['copied', 'shown'])
  })

  t.test('are scored anew when one is rated, in a trace that names it or not', async (t) => {
    const { org, send, judge, due } = await setup()
    const skill = await makeSkill(sql, org.orgId, { name: 'rated' })
    await publishSkill(sql, skill)
    const rating = (skill_version_id: string | undefined) => ({
      scores: [ratingOf(skill_version_id)],
    })
    await send('odd', rating('no id'))
    await send('unknown', rating('01980000-0000-7000-8000-000000000001'))
    await judge('odd', 'unknown')
    t.same(await due(), [])
    await send('t', rating(skill.versionIds[0]))
    await judge('t')
    t.same(await due(), ['rated'])
  })

  t.test('are rated beside the decision: a rating says nothing of the trace', async (t) => {
    const { org, send, judge } = await setup()
    const qualityOf = async (id: string) => {
      await judge(id)
      const [row] = await sql<{ quality_avg: number }[]>`
        select quality_avg from verdicts where org_id = ${org.orgId} and trace_id = ${id}`
      return row?.quality_avg
    }
    const score = { name: 'reward', source: 'human', value: 1 }
    const rating = ratingOf('01980000-0000-7000-8000-000000000001')
    const ordinary = { ...rating, metadata: { ...rating.metadata, trace_hash: undefined } }
    await send('alone', { scores: [score] })
    await send('rated', { scores: [score, rating] })
    await send('ordinary', { scores: [score, ordinary] })
    const quality = await qualityOf('alone')
    t.equal(await qualityOf('rated'), quality)
    t.not(await qualityOf('ordinary'), quality)
  })
})

/** A person's rating, of no effect, with all that it has to tell. */
function ratingOf(skill_version_id: string | undefined) {
  return {
    name: 'skill_rating',
    source: 'human',
    value: 0.5,
    metadata: {
      rater_model: 'none',
      rater_version: '1',
      prompt_sha256: HASH,
      rated_at: '2026-01-01T00:00:00Z',
      trace_hash: HASH,
      skill_version_id,
    },
  }
}
