import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { rootCertificates } from 'node:tls'
import { sealSecret } from '../jobs/rules/core/secret-box.ts'
import { parseNetworks } from '../jobs/rules/core/outbound-address.ts'
import type { OutboundSettings } from '../workers/runtime/context.ts'
import { guardedAgents } from '../workers/outbound/guarded-agent.ts'
import type { Config } from './config.ts'

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
 * The key that stored secrets are sealed with: MASTER_KEY, or one that is made once and kept in
 * DATA_DIR, which is enough while one machine runs everything.
 */
export async function readMasterKey({ MASTER_KEY, DATA_DIR }: Config): Promise<Buffer> {
  if (MASTER_KEY) return Buffer.from(MASTER_KEY, 'hex')
  const path = join(DATA_DIR, 'master-key')
  await mkdir(DATA_DIR, { recursive: true })
  // When two processes make it at once, one wins and both read what it wrote.
  await writeFile(path, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' }).catch(
    (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error
    },
  )
  return Buffer.from(await readFile(path, 'utf8'), 'hex')
}
