import t from 'tap'
import { fillOrganization } from '../../../support/backup/full-organization.ts'
import { kindOf, linesOf, openInstallation, withEnd } from '../../../support/backup/backups.ts'
import fc from '../../../support/property.ts'
import { backupOf, traceLine } from '../../../support/backup-lines.ts'
import { LONG } from '../../../faults/stage.ts'

const ODD = [
  'null',
  'true',
  '-1',
  '1e300',
  '2147483648',
  '9007199254740991',
  '9007199254740993',
  '""',
  '"constructor"',
  '"__proto__"',
  '"NUL \\u0000"',
  '"\\ud800 alone"',
  JSON.stringify('x'.repeat(300_000)),
  '"9999-12-31T23:59:59.999Z"',
  '"0001-01-01T00:00:00.000Z"',
  '"01a20080-6a47-7000-8000-4f1d2a9c3b5e"',
  '[]',
  '[null,{"__proto__":1},["constructor"]]',
  '{}',
  '{"__proto__":{"a":1},"constructor":2,"toString":null}',
]
const READ = ['/traces', '/evaluators', '/decision-policy', '/manifests', '/skills', '/datasets']

const source = await openInstallation(t)
const owner = await source.service.makeOrganization()
await fillOrganization(source.service, owner, { traces: 3 })
const [header = '', ...lines] = linesOf(await source.take(owner)).slice(0, -1)
const kinds = [...Map.groupBy(lines, kindOf)]
/** The last of the traces: it is stored whatever stands before it. */
const sentinel = backupOf([traceLine('sentinel')]).split('\n')[1] ?? ''

t.test('a line whose members are anything costs itself and its trace alone', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(change(), { minLength: 1, maxLength: 30 }), async (changes) => {
      const changed = [header, ...lines]
      for (const { line, texts } of changes) changed[changed.indexOf(line)] = texts
      const flat = changed.flatMap((text) => text.split('\n'))
      flat.splice(
        flat.findIndex((text) => kindOf(text) === 'dataset'),
        0,
        sentinel,
      )
      const org = await source.service.makeOrganization()
      const shown = await source.restore(org, withEnd(flat))
      t.match(shown, { status: 'succeeded', error: null })
      const { get } = source.service.client(org.key)
      t.equal((await get('/traces/sentinel')).status, 200)
      const { body } = await get(`/import/${shown.id}/errors?limit=1000`)
      const faulty = new Set(body.errors.map(({ line }: { line: number }) => line))
      const whole = flat.filter((text, i) => kindOf(text) === 'trace' && !faulty.has(i + 1))
      t.equal(shown.imported_count, new Set(whole.map(keyOf)).size, 'traces')
      for (const path of READ) t.ok((await get(path)).status < 500, path)
    }),
    { numRuns: LONG ? 200 : 12 },
  )
})

/** A line of any kind, and what stands in its place. */
function change() {
  const line = fc.constantFrom(...kinds).chain(([, some]) => fc.constantFrom(...some))
  return fc
    .tuple(line, fc.nat(), fc.constantFrom(...ODD), fc.constantFrom('twice', 'odd', 'absent'))
    .map(([text, n, odd, how]) => ({ line: text, texts: changed(text, n, odd, how) }))
}

function changed(text: string, n: number, odd: string, how: string) {
  if (how === 'twice') return `${text}\n${text}`
  const members = Object.entries(JSON.parse(text) as object)
  const at = 1 + (n % (members.length - 1))
  const written = members.map(([name, value], i) => [name, i === at ? odd : JSON.stringify(value)])
  const kept = how === 'absent' ? written.toSpliced(at, 1) : written
  return `{${kept.map(([name, value]) => `${JSON.stringify(name)}:${value}`).join()}}`
}

function keyOf(text: string) {
  const { project, trace_id } = JSON.parse(text) as Record<string, unknown>
  return JSON.stringify([project, trace_id])
}
