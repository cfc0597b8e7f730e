import { oneOf, shape, text, uuid } from '../jobs/shape.ts'
import type { Transaction } from '../sql/core/db.ts'
import { findSkillOwner, holdSkill, listVersionOwners } from '../sql/skills/holds.ts'
import { findSafety } from '../sql/skills/safety.ts'
import { reviewVersion } from '../sql/transactions/settle-safety.ts'
import { auditOperator } from './audit.ts'
import { openProcessQueue, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Access, Command } from './command.ts'
import { OperatorError } from './operator-error.ts'

const note = text(1000)

export const skillCommands: readonly Command[] = [
  command('skill hold', {
    usage: 'ID --note TEXT # withdraws a published skill, also where it is published again',
    options: shape({ id: uuid(), note }),
    positional: 'id',
    run: ({ id, note }, access) => hold(id, note, access),
  }),

  command('skill release', {
    usage: 'ID',
    options: shape({ id: uuid() }),
    positional: 'id',
    run: ({ id }, access) => hold(id, null, access),
  }),

  command('skill review', {
    usage:
      'VERSION_ID --band passed|caution|blocked --note TEXT [--by NAME] [--org ID] # holds against every scan of that content',
    options: shape(
      { version: uuid(), band: oneOf('passed', 'caution', 'blocked'), note },
      { by: text(128).default('operator'), org: uuid() },
    ),
    positional: 'version',
    async run({ version: versionId, band, note, by: reviewedBy, org }, { database }) {
      const { sql } = await database()
      const [orgId, ...others] = await listVersionOwners(sql, versionId, org)
      if (orgId === undefined) throw noVersion(versionId)
      if (others.length > 0) throw severalOwners(versionId)
      return withBoss(sql, async (boss) => {
        const queue = openProcessQueue(boss, sql)
        return queue.transaction(sql, async (tx: Transaction) => {
          const review = { versionId, band, note, reviewedBy, at: new Date() }
          if (!(await reviewVersion(tx, queue, orgId, review))) throw noVersion(versionId)
          const safety = await findSafety(tx, orgId, versionId)
          // The note is the operator's own.
          const told = { name: safety?.skill_name, version: safety?.version, band }
          await auditOperator(tx, orgId, 'skill.reviewed', safety?.skill_id ?? versionId, told)
          return { version_id: versionId, org_id: orgId, skill_id: safety?.skill_id, band }
        })
      })
    },
  }),
]

async function hold(id: string, note: string | null, { database }: Access) {
  const { sql } = await database()
  const orgId = await findSkillOwner(sql, id)
  if (orgId === undefined) throw new OperatorError(`There is no skill ${id} that was ever public.`)
  const action = note === null ? 'skill.released' : 'skill.held'
  return sql.begin(async (tx) => {
    const held = await holdSkill(tx, orgId, id, note)
    await auditOperator(tx, orgId, action, id, { name: held?.url_slug })
    return { skill_id: id, org_id: orgId, held_at: held?.held_at ?? null }
  })
}

const noVersion = (id: string) => new OperatorError(`There is no version ${id} of a skill.`)
const severalOwners = (id: string) =>
  new OperatorError(`Several organizations have a version ${id}, of a backup: name one with --org.`)
