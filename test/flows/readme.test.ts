import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import t from 'tap'
import { loadHandlers } from '../support/handlers.ts'
import { openService } from '../support/service.ts'

t.test('the walk through of the README works as it stands', async (t) => {
  const service = await openService(t)
  const { key } = await service.makeOrganization()
  await service.startWorkers(await loadHandlers())
  await service.server.start()
  const blocks = await readBlocks()
  t.ok(blocks.length >= 6, `${blocks.length} blocks`)

  const folder = t.testdir()
  const env = { PATH: process.env['PATH'], BASE: `${service.server.info.uri}/api/v1`, KEY: key }
  const script = `set -euo pipefail\n${blocks.join(`\nprintf '\\n${CUT}\\n'\n`)}`
  const { stdout, stderr } = await run(script, folder, env)
  t.equal(stderr, '')
  const [pushed, scored, decided, imported, built, exported] = stdout.split(`\n${CUT}\n`)

  t.match(parse(pushed), { trace_id: 'order-42', created: true, llm_calls: 1 })
  t.match(parse(scored), { trace_id: 'order-42', stored: 1 })
  t.match(parse(decided), { verdict: 'keep', reasons: [{ code: 'score.good' }] })
  t.match(parse(imported), { imported_count: 2, error_count: 0, scores_imported: 2 })
  t.match(parse(built), { status: 'ready', version_number: 1, row_count: 2 })
  const rows = (exported ?? '').trim().split('\n').map(parse)
  t.same(rows.map(tracesOf).sort(), ['order-42', 'order-43'])
  const file = (await readFile(join(folder, 'shop-sft.parquet'))).buffer
  t.same((await parquetReadObjects({ file, compressors })).map(tracesOf).sort(), [
    'order-42',
    'order-43',
  ])
})

/** The ```bash blocks of the section, in their order. */
async function readBlocks() {
  const text = await readFile('README.md', 'utf8')
  const section = /\n## A walk through\n([\s\S]*?)\n## /.exec(text)?.[1] ?? ''
  return [...section.matchAll(/\n```bash\n([\s\S]*?)\n```\n/g)].map(([, block]) => block as string)
}

function run(script: string, cwd: string, env: NodeJS.ProcessEnv) {
  return new Promise<{ stdout: string; stderr: string }>((resolve, reject) => {
    execFile('bash', ['--norc', '-c', script], { cwd, env }, (error, stdout, stderr) =>
      error ? reject(new Error(`${error.message}\n${stdout}`)) : resolve({ stdout, stderr }),
    )
  })
}

function parse(text: string | undefined): Record<string, unknown> {
  return JSON.parse(text ?? '') as Record<string, unknown>
}

function tracesOf(row: Record<string, unknown>) {
  return (row['provenance'] as { trace_id: string }).trace_id
}

const CUT = '--- next block ---'
