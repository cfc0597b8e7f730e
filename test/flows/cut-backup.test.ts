import { gzipSync } from 'node:zlib'
import t from 'tap'
import { HEADER } from '../../jobs/rules/import/backup/lines.ts'
import {
  isAboutTrace,
  kindOf,
  linesOf,
  openInstallation,
  withEnd,
} from '../support/backup/backups.ts'
import { firstDifference } from '../support/backup/first-difference.ts'
import { fillOrganization } from '../support/backup/full-organization.ts'
import fc from '../support/property.ts'
import { LONG } from '../faults/stage.ts'

const installation = await openInstallation(t)
const { service, take, restore } = installation
const owner = await service.makeOrganization()
await fillOrganization(service, owner, { traces: 3 })
const whole = withEnd(fewTraces(linesOf(await take(owner))))

t.test('a backup that breaks off anywhere is incomplete, and the whole completes it', async (t) => {
  const anywhere = fc.integer({ min: Buffer.byteLength(HEADER), max: whole.length - 1 })
  const cut = fc.oneof(anywhere, fc.constantFrom(...notableCuts(linesOf(whole))))
  await fc.assert(
    fc.asyncProperty(cut, async (length) => {
      const org = await service.makeOrganization()
      t.match(await restore(org, Buffer.from(whole).subarray(0, length)), INCOMPLETE, `${length}`)
      const { get } = service.client(org.key)
      for (const path of LISTS) t.equal((await get(path)).status, 200, `GET ${path}`)
      t.match(await restore(org, whole), WHOLE)
      t.equal(firstDifference(await take(org), whole), undefined)
    }),
    { numRuns: LONG ? 100 : 8, examples: notableCuts(linesOf(whole)).map((length) => [length]) },
  )
})

t.test('so is one whose gzip stream breaks off, or has other bytes within', async (t) => {
  const zipped = gzipSync(whole)
  const changed = whole.replace('"agent_name":"shop"', '"agent_name":"shoe"')
  for (const file of [zipped.subarray(0, zipped.length >> 1), zipped.subarray(0, -9), changed]) {
    const org = await service.makeOrganization()
    t.match(await restore(org, file), { status: 'failed', error: { code: String } })
  }
  const org = await service.makeOrganization()
  await restore(org, zipped.subarray(0, zipped.length >> 1))
  t.match(await restore(org, zipped), WHOLE)
  t.equal(firstDifference(await take(org), whole), undefined)
})

/** At the end of the header, before the versions of skills, between a trace and its follower, within a line, before and within the end. */
function notableCuts(lines: readonly string[]) {
  const starts = lines.map((_, i) => bytesOf(lines.slice(0, i)))
  const at = (line: number) => starts[line] as number
  const trace = lines.findIndex((line) => kindOf(line) === 'trace')
  const version = lines.findIndex((line) => kindOf(line) === 'skill_version')
  const task = lines.findIndex((line) => kindOf(line) === 'replay_task')
  const end = lines.length - 1
  return [
    at(1),
    at(version),
    at(task),
    at(trace),
    at(trace + 1),
    at(trace + 1) + 20,
    at(end),
    at(end) + 30,
  ]
}

function bytesOf(lines: readonly string[]) {
  return Buffer.byteLength(lines.map((line) => `${line}\n`).join(''))
}

/** With few of the traces; those that others name remain. */
function fewTraces(lines: readonly string[]) {
  let isKept = true
  return lines.filter((line) => {
    const { kind, trace_id } = JSON.parse(line) as { kind: string; trace_id?: string }
    if (kind === 'trace') isKept = !/^(writer|plain)-\d-[1-9]/.test(trace_id ?? '')
    return kind !== 'end' && (isKept || !isAboutTrace(line))
  })
}

const LISTS = ['/skills', '/replay/batches', '/datasets', '/manifests', '/traces']
const INCOMPLETE = { status: 'failed', error: { code: 'incomplete_backup' } }
const WHOLE = { status: 'succeeded', error_count: 0, error: null }
