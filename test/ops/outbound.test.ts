import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../ops/config.ts'
import { OperatorError } from '../../ops/operator-error.ts'
import { findPublicUrlFault, readMasterKey } from '../../ops/outbound.ts'

t.test('the master key is made once, by whoever is first', async (t) => {
  const DATA_DIR = join(t.testdir(), 'data')
  const config = readConfig({ DATA_DIR })
  const keys = await Promise.all(Array.from({ length: 50 }, () => readMasterKey(config)))
  t.same(new Set(keys.map((key) => key.toString('hex'))).size, 1)
  t.same(keys[0], Buffer.from(readFileSync(join(DATA_DIR, 'master-key'), 'utf8'), 'hex'))
  t.same(readdirSync(DATA_DIR), ['master-key'])
})

t.test('a kept master key that is not whole is refused', async (t) => {
  const DATA_DIR = t.testdir()
  const path = join(DATA_DIR, 'master-key')
  for (const kept of ['', 'ab'.repeat(31), 'ab'.repeat(33), 'no hex']) {
    writeFileSync(path, kept)
    const message = `${path} is not a key of 32 bytes as hex. Bring it back from a backup: nothing else opens what was sealed with it.`
    await t.rejects(readMasterKey(readConfig({ DATA_DIR })), new OperatorError(message), kept)
    t.equal(readFileSync(path, 'utf8'), kept)
  }
  writeFileSync(path, `${'ab'.repeat(32)}\n`)
  t.same(await readMasterKey(readConfig({ DATA_DIR })), Buffer.alloc(32, 0xab))
})

t.test('runners of replays are told no address that stands for all of a machine', async (t) => {
  for (const HOST of ['0.0.0.0', '::']) {
    t.match(findPublicUrlFault(readConfig({ HOST })), /set PUBLIC_URL/)
    t.equal(findPublicUrlFault(readConfig({ HOST, PUBLIC_URL: 'https://api.example' })), undefined)
  }
  t.equal(findPublicUrlFault(readConfig({ HOST: '10.0.0.1' })), undefined)
})
