import { randomBytes, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { sealSecret } from '../jobs/rules/core/secret-box.ts'
import { parseNetworks } from '../jobs/rules/core/outbound-address.ts'
import type { OutboundSettings } from '../workers/runtime/context.ts'
import { guardedAgents } from '../workers/outbound/guarded-agent.ts'
import type { Config } from './config.ts'
import { OperatorError } from './operator-error.ts'

export async function openOutbound(config: Config): Promise<OutboundSettings> {
  const { OUTBOUND_CA_FILE: caFile } = config
  const ca = caFile && [...rootCertificates, await readFile(caFile, 'utf8')]
  const options = ca ? { ca } : {}
  return {
    agents: guardedAgents(parseNetworks(config.OUTBOUND_ALLOW_CIDRS), options),
    hub: {
      url: config.HUB_URL,
      token: config.HUB_TOKEN,
      agents: guardedAgents(parseNetworks('0.0.0.0/0,::/0'), options),
    },
    publicUrl: (config.PUBLIC_URL ?? `http://${config.HOST}:${config.PORT}`).replace(/\/+$/, ''),
    retrySchedule: config.WEBHOOK_RETRY_SCHEDULE.split(',').map(Number),
    masterKeys: await readMasterKeys(config),
  }
}

/** Why runners of replays in push mode cannot reach the API by what they are told; undefined where they can. */
export function findPublicUrlFault({ HOST, PUBLIC_URL }: Config): string | undefined {
  if (PUBLIC_URL !== undefined || !WILDCARDS.has(HOST)) return undefined
  return `HOST is ${HOST}, by which no runner of replays in push mode reaches the API: set PUBLIC_URL to the address that it is reached at.`
}

/** Seals a secret for storage. */
export async function seal(config: Config, secret: string): Promise<Buffer> {
  return sealSecret(await readMasterKey(config), randomBytes(12), secret)
}

/** The keys that may open a stored secret: the one that seals, then the one before it, if it is told. */
export async function readMasterKeys(config: Config): Promise<Buffer[]> {
  const { MASTER_KEY_PREVIOUS: previous } = config
  return [await readMasterKey(config), ...(previous ? [Buffer.from(previous, 'hex')] : [])]
}

/**
 * The key that stored secrets are sealed with, of 32 bytes: MASTER_KEY, or one that is made once and kept in
 * DATA_DIR, which is enough while one machine runs everything.
 * @throws OperatorError where what is kept is no such key
 */
export async function readMasterKey({ MASTER_KEY, DATA_DIR }: Config): Promise<Buffer> {
  if (MASTER_KEY) return Buffer.from(MASTER_KEY, 'hex')
  const path = join(DATA_DIR, 'master-key')
  if (!existsSync(path)) await makeMasterKey(DATA_DIR, path)
  const key = Buffer.from(await readFile(path, 'utf8'), 'hex')
  if (key.length === 32) return key
  throw new OperatorError(
    `${path} is not a key of 32 bytes as hex. Bring it back from a backup: nothing else opens what was sealed with it.`,
  )
}

/** It gets its name when it is whole. When two processes make it at once, one wins and both read what it wrote. */
async function makeMasterKey(folder: string, path: string) {
  const made = `${path}.${randomUUID()}`
  await mkdir(folder, { recursive: true })
  await writeFile(made, randomBytes(32).toString('hex'), { mode: 0o600, flush: true })
  try {
    await link(made, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    await rm(made)
  }
}

/** Listened on, they are every address of the machine. */
const WILDCARDS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])
