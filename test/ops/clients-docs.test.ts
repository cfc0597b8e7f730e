import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import t from 'tap'
import type { Test } from 'tap'
import { openDocumented } from '../support/documented-commands.ts'
import { openMoodyProxy } from '../support/moody-proxy.ts'

/** Uses of the types that must not compile, each with the line that is right. */
const WRONG = [
  [`trace_idd: 'a'`, `trace_id: 'a'`],
  [`status: 'done'`, `status: 'success'`],
  [`tags: 'one'`, `tags: ['one']`],
  [`llm_calls: [{ input_tokens: '1' }]`, `llm_calls: [{ input_tokens: 1 }]`],
] as const
const CLIENT = './client.ts'
const MISUSES = [
  `await service.GET('/api/v1/tracess')`,
  `await service.DELETE('/api/v1/datasets')`,
  `await service.GET('/api/v1/jobs/{job_id}')`,
  `await service.GET('/api/v1/traces', { params: { query: { verdict: 'kept' } } })`,
  `await service.POST('/api/v1/datasets', { body: { name: 'a' } })`,
  `bodyOf(await service.GET('/api/v1/traces')).traces[0]!.verdict.length`,
  `bodyOf(await service.GET('/api/v1/traces')).next`,
]

t.test('the documented TypeScript client', async (t) => {
  const { proxy, documented } = await openThroughProxy(t)
  const { codeOf, run, folder } = documented
  const place = join(folder, 'client')
  mkdirSync(join(place, 'node_modules/@types'), { recursive: true })
  for (const name of ['.bin', 'openapi-fetch', 'openapi-typescript', 'typescript']) {
    symlinkSync(resolve('test/clients/node_modules', name), join(place, 'node_modules', name))
  }
  symlinkSync(resolve('node_modules/@types/node'), join(place, 'node_modules/@types/node'))
  writeFileSync(join(place, 'package.json'), '{ "private": true, "type": "module" }')
  const [settings] = codeOf('json')
  writeFileSync(join(place, 'tsconfig.json'), settings ?? '')
  for (const code of codeOf('ts')) writeFileSync(join(place, nameOf(code)), code)
  writeFileSync(join(place, 'misuses.ts'), misuses())

  const [commands] = codeOf('bash')
  const path = `PATH=${dirname(process.execPath)}:$PATH`
  const printed = await run('bash', ['-c', `set -eu\ncd client\n${path}\n${commands}`])
  const shown = JSON.parse(printed.trim().split('\n').at(-1) ?? '') as { listed: string[] }
  t.match(shown, {
    stored: 3,
    again: 3,
    verdicts: ['keep', 'keep', 'keep'],
    isSame: true,
    accepted: 202,
    job: 'succeeded',
    faults: [{ field: 'body' }],
  })
  t.equal(shown.listed.length, 3)
  t.equal(linesOf(join(place, 'parcels.jsonl')).length, 3)
  t.equal(proxy.timesOf('POST /api/v1/traces/batch'), 4, 'busy, lost, answered; once more by key')
})

const python = ['/usr/bin/python3', 'python3'].find(
  (program) => spawnSync(program, ['-c', 'import httpx']).status === 0,
)
t.test(
  'the documented Python client',
  { skip: python === undefined && 'no Python with httpx here' },
  async (t) => {
    const { proxy, documented } = await openThroughProxy(t)
    const { codeOf, run, folder } = documented
    const files = codeOf('python').map((code) => {
      writeFileSync(join(folder, nameOf(code)), code)
      return nameOf(code)
    })
    t.same(files, ['client.py', 'example.py'])
    const parse =
      'import ast, sys; [ast.parse(open(f).read(), feature_version=(3, 9)) for f in sys.argv[1:]]'
    await run(python ?? '', ['-c', parse, ...files])
    t.match(JSON.parse(await run(python ?? '', ['example.py'])), {
      stored: 3,
      again: 3,
      imported: ['succeeded', 2, 1],
      verdicts: ['keep', 'keep', 'keep', 'keep', 'keep'],
      listed: 5,
      is_same: true,
      version: ['ready', 'v1'],
      refused: { status: 422, code: 'validation_error', faults: [{ field: 'body.traces' }] },
    })
    t.equal(linesOf(join(folder, 'parcels-py.jsonl')).length, 5)
    t.ok(proxy.timesOf('POST /api/v1/import/jsonl') > 1, 'a file is sent again from its beginning')
  },
)

async function openThroughProxy(t: Test) {
  let proxy: Awaited<ReturnType<typeof openMoodyProxy>> | undefined
  const documented = await openDocumented(t, 'clients.md', async (address) => {
    proxy = await openMoodyProxy(t, address)
    return proxy.address
  })
  if (!proxy) throw new Error('There is no proxy')
  return { proxy, documented }
}

/** A module in which each wrong use is expected to be an error, and the right one is not. */
function misuses() {
  const traces = WRONG.flatMap(([wrong, right], i) => [
    `export const right${i}: Schemas['TraceRequest'] = { ${right} }`,
    `// @ts-expect-error`,
    `export const wrong${i}: Schemas['TraceRequest'] = { ${wrong} }`,
  ])
  const calls = MISUSES.flatMap((call) => ['  // @ts-expect-error', `  ${call}`])
  return [
    `import { bodyOf, service } from '${CLIENT}'`,
    `import type { Schemas } from '${CLIENT}'`,
    ...traces,
    'export async function misuse() {',
    ...calls,
    '}',
  ].join('\n')
}

/** The first line of a block says the name of its file. */
function nameOf(code: string) {
  return /^(?:\/\/|#) (\S+)/.exec(code)?.[1] ?? ''
}

function linesOf(path: string) {
  return readFileSync(path, 'utf8').trim().split('\n')
}
