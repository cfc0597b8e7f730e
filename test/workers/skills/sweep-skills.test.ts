import t from 'tap'
import { DAY_MS } from '../../../jobs/rules/core/time.ts'
import { scoreSkill } from '../../../jobs/score-skill.ts'
import type { Transaction } from '../../../sql/core/db.ts'
import { markScoresDue, takeScoresDue } from '../../../sql/skills/scores-due.ts'
import { scoreSkillHandler } from '../../../workers/skills/score-skill.ts'
import { sweepSkillsHandler } from '../../../workers/skills/sweep-skills.ts'
import { makeSkill, publishSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('the sweep', async (t) => {
  const service = await openService(t)
  const { sql, context } = service
  const { queue } = context
  const sweep = (at = new Date()) =>
    queue.transaction(sql, (tx: Transaction) =>
      sweepSkillsHandler.work({}, { ...context, now: () => at } as never, tx),
    )
  const requested = async () => {
    const rows = await sql<{ id: string }[]>`
      select data->'payload'->>'skill_id' as id from pgboss.job
      where name = ${scoreSkill.name} and state = 'created' order by priority desc`
    return rows.map(({ id }) => id)
  }
  const { orgId } = await service.makeOrganization()
  const upstream = await makeSkill(sql, orgId, { name: 'upstream' })
  await publishSkill(sql, upstream)
  const copier = await service.makeOrganization()
  await makeSkill(sql, copier.orgId, { name: 'copy', forkOf: upstream })

  t.test('has skills scored that were never, and a day later again', async (t) => {
    await sweep()
    await sweep()
    t.same(await requested(), [upstream.id])
    const worker = await service.startWorkers([scoreSkillHandler])
    const scored = await until(async () => {
      const [row] = await sql<{ at: Date | null }[]>`
        select scored_at as at from registry_skills where skill_id = ${upstream.id}`
      return row?.at
    })
    await worker.stop()
    await sweep()
    t.same(await requested(), [])
    await sweep(new Date(scored.getTime() + DAY_MS + 1))
    t.same(await requested(), [upstream.id])
    await service.boss.deleteQueuedJobs(scoreSkill.name)
  })

  t.test('has skills scored of which evidence came, their own or of a copy', async (t) => {
    const mark = (orgId: string, name: string) =>
      sql.begin((tx) => markScoresDue(tx, orgId, [name, name]))
    for (const [owner, name] of [
      [orgId, 'upstream'],
      [copier.orgId, 'copy'],
    ] as const) {
      await mark(owner, name)
      await sweep()
      t.same(await requested(), [upstream.id])
      await service.boss.deleteQueuedJobs(scoreSkill.name)
      await sweep()
      t.same(await requested(), [])
    }
    await mark(copier.orgId, 'unknown')
    await sweep()
    t.same(await requested(), [])
    t.same(await sql`select from skill_scores_due`, [])
  })

  t.test('takes what has been due for longest, however often it was noted since', async (t) => {
    const mark = (name: string) => sql.begin((tx) => markScoresDue(tx, orgId, [name]))
    await mark('upstream')
    await sql`update skill_scores_due set due_at = due_at - interval '1 hour'`
    await mark('unknown')
    await mark('upstream')
    t.match(await sql.begin((tx) => takeScoresDue(tx, 1)), [{ skill_id: upstream.id }])
    await sql.begin((tx) => takeScoresDue(tx, 1))
  })

  t.test('leaves what is being noted for the next one', async (t) => {
    await sql.begin((tx) => markScoresDue(tx, orgId, ['upstream']))
    await sql.begin(async (tx) => {
      await markScoresDue(tx, orgId, ['upstream'])
      await sweep()
      t.same(await requested(), [])
    })
    await sweep()
    t.same(await requested(), [upstream.id])
  })
})
