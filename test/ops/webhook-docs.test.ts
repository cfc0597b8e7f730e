import t from 'tap'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { signBody } from '../../jobs/rules/webhooks/signature.ts'

const docs = readFileSync('ops/docs/webhooks.md', 'utf8')
const SECRET = 'whsec_test'
const BODY = Buffer.from('{"org_name":"Acmé"}')
const GOOD = signBody(SECRET, BODY)
const BAD = [`${GOOD.slice(0, -1)}x`, GOOD.slice(0, -1), '', 'sha256=', null]

function codeOf(language: string) {
  const code = new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(docs)?.[1]
  if (!code) throw new Error(`No ${language} code in the document`)
  return code
}

t.test('the documented Node.js code tells genuine deliveries from others', async (t) => {
  const file = join(t.testdir(), 'verify.mjs')
  writeFileSync(file, codeOf('js'))
  const { isGenuine } = (await import(pathToFileURL(file).href)) as {
    isGenuine: (secret: string, body: Buffer, header: string | null) => boolean
  }
  t.equal(isGenuine(SECRET, BODY, GOOD), true)
  for (const header of BAD) t.equal(isGenuine(SECRET, BODY, header), false, String(header))
  t.equal(isGenuine('other', BODY, GOOD), false)
})

const python = spawnSync('python3', ['--version']).status === 0
t.test('the documented Python code does too', { skip: !python && 'no python3 here' }, async (t) => {
  const file = join(t.testdir(), 'verify.py')
  const check = `
import json, sys
secret, body, headers = json.loads(sys.argv[1])
print(json.dumps([is_genuine(secret, body.encode(), header) for header in headers]))`
  writeFileSync(file, codeOf('python') + check)
  const input = JSON.stringify([SECRET, BODY.toString(), [GOOD, ...BAD]])
  const { stdout } = spawnSync('python3', [file, input], { encoding: 'utf8' })
  t.same(JSON.parse(stdout), [true, ...BAD.map(() => false)])
})
