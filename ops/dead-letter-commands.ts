import { bool, int, shape, text, time, uuid } from '../jobs/shape.ts'
import { openProcessQueue, withBoss } from './boss.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { listDeadLetters, redriveDeadLetters } from './dead-letters.ts'

/** Which dead letters are meant; `--error` is a part of what they died of. */
const letterOptions = { org: uuid(), error: text(), since: time(), until: time() }
const LETTER_USAGE = '[--org ID] [--error TEXT] [--since TIME] [--until TIME] [--limit N]'

export const deadLetterCommands: readonly Command[] = [
  command('dead-letters list', {
    usage: `NAME ${LETTER_USAGE}`,
    options: shape({ name: text() }, { ...letterOptions, limit: int(1, 10_000).default(100) }),
    positional: 'name',
    async run({ name, org: orgId, ...filter }, { database }) {
      const { sql } = await database()
      return { queue: name, dead_letters: await listDeadLetters(sql, name, { ...filter, orgId }) }
    },
  }),

  command('dead-letters redrive', {
    usage: `NAME ${LETTER_USAGE} [--dry-run] # puts back those that match`,
    options: shape(
      { name: text() },
      {
        ...letterOptions,
        limit: int(1, 10_000).default(1000),
        'dry-run': bool().default(false),
      },
    ),
    positional: 'name',
    async run({ name, org: orgId, 'dry-run': dryRun, ...filter }, { database }) {
      const { sql } = await database()
      return withBoss(sql, (boss) => {
        const queue = openProcessQueue(boss, sql)
        return redriveDeadLetters({ boss, sql, queue }, name, { ...filter, orgId, dryRun })
      })
    },
  }),
]
