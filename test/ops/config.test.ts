import { randomBytes } from 'node:crypto'
import { resolve } from 'node:path'
import t from 'tap'
import { makeKey } from '../../jobs/rules/access/api-key.ts'
import { readConfig } from '../../ops/config.ts'
import { environment } from '../../ops/environment.ts'
import { POOLS } from '../../workers/pool-names.ts'
import { editDistance } from '../../ops/edit-distance.ts'
import { pools } from '../../workers/pools.ts'
import fc from '../support/property.ts'

t.test('an empty environment gives defaults that work', async (t) => {
  t.match(readConfig({ PATH: '/bin', PORT: '' }), {
    PORT: 3000,
    HOST: '127.0.0.1',
    DATA_DIR: resolve('.data'),
    storage: { kind: 'folder', folder: resolve('.data/storage') },
    DRAIN_SECONDS: 20,
    concurrency: {},
  })
})

t.test('every fault is named in one message', async (t) => {
  const env = { PORT: '70000', DATABASE_URL: 'mysql://x', SEED: 'some', STORAGE_URL: 's3://x' }
  t.throws(() => readConfig(env), /^Environment: .*PORT.*DATABASE_URL.*STORAGE_URL.*SEED/)
})

t.test('a name that is nearly one of ours is refused with the one that is meant', async (t) => {
  const cases = {
    POOL_CONCURENCY_IMPORT: 'POOL_CONCURRENCY_IMPORT',
    DATBASE_URL: 'DATABASE_URL',
    DATADIR: 'DATA_DIR',
    LOGLEVEL: 'LOG_LEVEL',
    PORTS: 'PORT',
  }
  for (const [name, meant] of Object.entries(cases)) {
    t.throws(() => readConfig({ [name]: '1' }), { message: new RegExp(`${name} .*; ${meant} is`) })
  }
})

t.test('the usual variables of other programs are left alone', async (t) => {
  const names = `HOME HOSTNAME PATH PWD USER SHELL LANG TERM EDITOR PGDATA PGHOST PGPORT DB_PORT INIT_CWD
    NODE_ENV NODE_OPTIONS npm_config_port SEEDS_URL LOG_FORMAT DATABASE_NAME PUBLIC_KEY KUBERNETES_PORT`
  const env = Object.fromEntries(names.split(/\s+/).map((name) => [name, 'x']))
  t.equal(readConfig(env).PORT, 3000)
})

t.test('files are kept in a folder or in a bucket', async (t) => {
  const read = (STORAGE_URL: string, env = {}) => readConfig({ STORAGE_URL, ...env }).storage
  t.same(read('file:///srv/my%20files/'), { kind: 'folder', folder: '/srv/my files' })
  const bucket = { kind: 's3', bucket: 'my-bucket.1', prefix: '', pathStyle: false }
  t.same(read('s3://my-bucket.1'), bucket)
  t.same(read('s3://my-bucket.1/'), bucket)
  t.same(read('s3://my-bucket.1/a/b_c/'), { ...bucket, prefix: 'a/b_c/' })
  for (const name of ['AWS_ENDPOINT_URL', 'AWS_ENDPOINT_URL_S3']) {
    const env = { [name]: 'http://minio:9000' }
    t.same(read('s3://my-bucket.1', env), { ...bucket, pathStyle: true })
  }
  const wrong = `s3:// s3://x s3://My_Bucket s3:///a s3://bucket/.a s3://bucket/a//b s3://bucket/a?b
    s3://key:secret@bucket s3://bucket:80/a http://bucket file://host/a file:a /a`
  for (const url of wrong.split(/\s+/)) {
    t.throws(
      () => read(url),
      {
        message:
          /^Environment: STORAGE_URL must be file:\/\/\/FOLDER, or s3:\/\/BUCKET[^;]*; [^;]*\.$/,
      },
      url,
    )
  }
  t.throws(() => readConfig({ STORAGE_REDIRECT_SECONDS: '60' }), /needs a STORAGE_URL of s3/)
})

t.test('the slots of each pool can be set', async (t) => {
  const env = { POOL_CONCURRENCY_IMPORT: '3', POOL_CONCURRENCY_EVALS: '8' }
  t.same(readConfig(env).concurrency, { import: 3, evals: 8 })
  t.throws(() => readConfig({ POOL_CONCURRENCY_EVALS: '0' }), /POOL_CONCURRENCY_EVALS must be/)
  t.same([...POOLS].sort(), Object.keys(pools).sort())
})

t.test('HUB_TOKEN must fit into a header, and no message repeats it', async (t) => {
  t.equal(readConfig({ HUB_TOKEN: 'hf_abc' }).HUB_TOKEN, 'hf_abc')
  for (const token of ['hf_abc\n', 'hf_ abc', 'hf_ä']) {
    const message = 'Environment: HUB_TOKEN must be visible ASCII without spaces.'
    t.throws(() => readConfig({ HUB_TOKEN: token }), { message })
  }
})

t.test('an empty secret of payment webhooks is refused, and no message repeats one', async (t) => {
  for (const secrets of ['whsec_a', 'whsec_a,whsec_b']) {
    const env = { PAYMENT_WEBHOOK_SECRET: secrets }
    t.equal(readConfig(env).PAYMENT_WEBHOOK_SECRET, secrets)
  }
  for (const secrets of [
    'whsec_a,',
    ',whsec_a',
    'whsec_a,,whsec_b',
    'whsec_a, whsec_b',
    ' ',
    ',',
  ]) {
    const message =
      'Environment: PAYMENT_WEBHOOK_SECRET must be secrets separated by commas, without spaces and none of them empty.'
    t.throws(() => readConfig({ PAYMENT_WEBHOOK_SECRET: secrets }), { message })
  }
})

t.test('INIT_API_KEY must be well-formed, and the message says how to make one', async (t) => {
  const key = makeKey('svc_', randomBytes(64))
  t.equal(readConfig({ INIT_API_KEY: key }).INIT_API_KEY, key)
  for (const wrong of [
    key.slice(1),
    `${key}x`,
    key.replace(/.$/, (c) => (c === '0' ? '1' : '0')),
  ]) {
    t.throws(() => readConfig({ INIT_API_KEY: wrong }), /node ops\/admin\.ts key make$/)
  }
  t.throws(() => readConfig({ INIT_API_KEY: key, KEY_PREFIX: 'acme_' }), /begins|well-formed/)
  t.notMatch(
    messageOf(() => readConfig({ INIT_API_KEY: `${key}x` })),
    key,
  )
})

t.test('every variable says what it is for', async (t) => {
  const keys = environment.describe()['keys'] as Record<
    string,
    { flags?: { description?: string } }
  >
  t.ok(Object.keys(keys).length > 10)
  for (const [name, { flags }] of Object.entries(keys)) t.ok(flags?.description, name)
})

t.test('the edit distance is a metric, and one for one edit', async () => {
  const word = fc.string({ maxLength: 8 })
  fc.assert(
    fc.property(word, word, word, fc.nat(8), (a, b, c, at) => {
      const ab = editDistance(a, b)
      const inserted = a.slice(0, at) + '~' + a.slice(at)
      return (
        ab === editDistance(b, a) &&
        (ab === 0) === (a === b) &&
        ab <= editDistance(a, c) + editDistance(c, b) &&
        editDistance(a, inserted) === 1
      )
    }),
  )
})

function messageOf(work: () => unknown) {
  try {
    work()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}
