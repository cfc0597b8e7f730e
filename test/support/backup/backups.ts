import { createHash } from 'node:crypto'
import type { Test } from 'tap'
import { endLine, KINDS } from '../../../jobs/rules/import/backup/lines.ts'
import type { BackupEnd } from '../../../jobs/rules/import/backup/lines.ts'
import { loadHandlers } from '../handlers.ts'
import { openService } from '../service.ts'
import type { Service } from '../service.ts'
import { settled } from '../settled.ts'
import { until } from '../until.ts'

export type Installation = Awaited<ReturnType<typeof openInstallation>>
export type Owner = Awaited<ReturnType<Service['makeOrganization']>>

/**
 * An installation of its own, empty, with all workers that work for tenants, which takes and restores backups.
 * Sweeps are left out, which come at a time of day and find something new.
 * @param without names of further queues that nobody works off
 */
export async function openInstallation(
  t: Test,
  { without = [] }: { readonly without?: readonly string[] } = {},
) {
  const service = await openService(t)
  const handlers = await loadHandlers(TENANTS_POOLS)
  await service.startWorkers(
    handlers.filter(({ job: { name } }) => !name.endsWith('.sweep') && !without.includes(name)),
  )
  return { service, ...openBackups(service) }
}

export function openBackups(service: Service) {
  /** The backup as the client receives it; its status must be 200. */
  async function take({ key }: Owner, query = ''): Promise<string> {
    const { status, body } = await service.client(key).get(`/export/backup${query}`)
    if (status !== 200) throw new Error(`GET /export/backup: ${status} ${JSON.stringify(body)}`)
    return body
  }

  /** Submits a backup and returns what its import shows when it has ended, and so has what follows from it. */
  async function restore(org: Owner, file: string | Buffer) {
    const importId = await submit(org, file)
    const ended = await until(async () => {
      const { body } = await service.client(org.key).get(`/import/${importId}`)
      return body.finished_at ? body : undefined
    })
    await settled(service.sql, org.orgId)
    return ended
  }

  async function submit({ key }: Owner, file: string | Buffer): Promise<string> {
    const path = '/import/jsonl?source=backup'
    const { status, body } = await service.client(key).call('POST', path, file, LINES)
    if (status >= 300) throw new Error(`POST ${path}: ${status} ${JSON.stringify(body)}`)
    return body.import_id
  }

  return { take, restore, submit }
}

/** The lines of a backup without their line feeds. */
export function linesOf(file: string) {
  return file.split('\n').slice(0, -1)
}

export function kindOf(line: string) {
  return (JSON.parse(line) as { kind: string }).kind
}

/** Lines of traces and what follows them. */
export function isAboutTrace(line: string) {
  return ABOUT_TRACES.has(kindOf(line))
}

/** A backup of these lines, which begin with its header, with the end that belongs to them. */
export function withEnd(lines: readonly string[]) {
  const kinds = Map.groupBy(lines, kindOf)
  const counts = KINDS.flatMap(({ name }) => {
    const listed = kinds.get(name)
    return listed ? [[name, listed.length]] : []
  })
  const bytes = lines.map((line) => `${line}\n`).join('')
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return bytes + endLine({ counts: Object.fromEntries(counts) as BackupEnd['counts'], sha256 })
}

const ABOUT_TRACES: ReadonlySet<string> = new Set([
  'trace',
  ...KINDS.filter(({ isFollower }) => isFollower).map(({ name }) => name),
])
const TENANTS_POOLS = ['import', 'evals', 'regression', 'datasets', 'replay', 'skills'] as const
const LINES = { 'content-type': 'application/x-ndjson', prefer: 'respond-async' }
