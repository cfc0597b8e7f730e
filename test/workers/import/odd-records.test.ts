import t from 'tap'
import { FORMAT_NAMES } from '../../../jobs/rules/import/detect.ts'
import { decodeContent } from '../../../jobs/rules/traces/content.ts'
import { importHandler } from '../../../workers/import/import-traces.ts'
import { openImports } from '../../support/imports.ts'
import { oddRecords } from '../../support/odd-records.ts'
import fc from '../../support/property.ts'
import { openService } from '../../support/service.ts'

t.test('the database takes whatever an import makes of odd records', async (t) => {
  const service = await openService(t)
  await service.startWorkers([importHandler()])
  const { submit } = openImports(t, service)
  for (const name of FORMAT_NAMES) {
    const samples = fc.sample(oddRecords(name), { numRuns: 60, seed: SEED })
    const lines = samples.flatMap((records, i) =>
      records.map((record) => ofOwnTrace(JSON.stringify(record), i)),
    )
    const submitted = await submit(`${lines.join('\n')}\n`)
    const shown = await submitted.ended()
    t.match(shown, { status: 'succeeded', error: null }, name)
    t.ok(shown.imported_count > 20, `${name}: ${shown.imported_count} traces`)
    const { errors } = (await submitted.get(`/import/${submitted.importId}/errors?limit=500`)).body
    t.same(
      errors.filter(({ code }: { code: string }) => code === 'refused'),
      [],
      `${name}: ${errors.length} errors`,
    )
    const stored = await service.sql<{ content: Buffer }[]>`
      select content from traces where org_id = ${submitted.orgId}`
    const read = stored.map(({ content }) => decodeContent(content).spans.length)
    t.equal(read.length, shown.imported_count, `${name}: ${read.join(', ')} spans`)
  }
})

/** Samples share ids, which would make one trace of them. */
function ofOwnTrace(text: string, i: number) {
  const end = i.toString(16).padStart(4, '0')
  return TRACES.reduce((told, id) => told.replaceAll(id, `${id.slice(0, -4)}${end}`), text)
}

const SEED = 20_260_101
const TRACES = [
  'order-0001',
  'session-0001',
  'session-0002',
  '0af7651916cd43dd8448eb211c80319c',
  '5f0c1c7e9a3b4d2e8f6a7b8c9d0e1f2a',
  '01900000-0000-7000-8000-000000000001',
]
