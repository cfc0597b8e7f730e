import { shape, text, uuid } from '../jobs/shape.ts'
import { findOrganization } from '../sql/org/organizations.ts'
import { setWebhookSecret } from '../sql/webhooks/notifications.ts'
import { auditOperator } from './audit.ts'
import { command } from './command.ts'
import type { Command } from './command.ts'
import { noOrganization, OperatorError } from './operator-error.ts'
import { readMasterKey, seal } from './outbound.ts'
import { rewrapSecrets } from './rewrap.ts'

export const secretCommands: readonly Command[] = [
  command('org set-webhook-secret', {
    usage: '--org ID --secret - # reads standard input; or --secret-env NAME, or --secret SECRET',
    options: shape(
      { org: uuid() },
      { secret: text(), 'secret-env': text().pattern(/^\w+$/, 'name of a variable') },
    ).xor('secret', 'secret-env'),
    async run({ org, secret, 'secret-env': variable }, { config, database }) {
      const given = await readSecret(secret, variable)
      const { sql } = await database()
      if (!(await findOrganization(sql, org))) throw noOrganization(org)
      const sealed = await seal(config, given)
      await sql.begin(async (tx) => {
        await setWebhookSecret(tx, org, sealed)
        await auditOperator(tx, org, 'webhook_secret.changed', org, {})
      })
      return { org_id: org, signing_secret_configured: true }
    },
  }),

  command('secrets rewrap', {
    usage: '# seals with MASTER_KEY what was sealed with MASTER_KEY_PREVIOUS',
    options: shape({}),
    async run(_, { config, database }) {
      const { MASTER_KEY_PREVIOUS: previous } = config
      if (!previous)
        throw new OperatorError(
          'Set MASTER_KEY_PREVIOUS to the key that the secrets are sealed with.',
        )
      const { sql } = await database()
      const keys = { to: await readMasterKey(config), from: Buffer.from(previous, 'hex') }
      const rewrapped = await rewrapSecrets(sql, keys)
      if (rewrapped.unreadable > 0) process.exitCode = 1
      return rewrapped
    },
  }),
]

/**
 * The secret that one of the two options gives: `-` reads it from standard input.
 * @throws OperatorError when it is too short, too long, or not there
 */
async function readSecret(secret: string | undefined, variable: string | undefined) {
  const given = variable === undefined ? await readOption(secret ?? '') : process.env[variable]
  const { error, value } = WEBHOOK_SECRET.validate(given)
  if (error) throw new OperatorError(`The secret cannot be used: ${error.message}.`)
  return value
}

async function readOption(secret: string) {
  if (secret === '-') return (await readInput()).replace(/\r?\n$/, '')
  process.stderr.write(
    'Other users of this machine can see the words of a command: give the secret by --secret - or --secret-env.\n',
  )
  return secret
}

async function readInput() {
  let read = ''
  process.stdin.setEncoding('utf8')
  for await (const part of process.stdin) {
    read += String(part)
    if (read.length > INPUT_MAX) break
  }
  return read
}

const WEBHOOK_SECRET = text().min(8).required().label('secret')
/** Of characters, more than the longest secret. */
const INPUT_MAX = 1024
