import { readFile } from 'node:fs/promises'
import { PassThrough, Readable } from 'node:stream'
import t from 'tap'
import { openChildLog } from '../../ops/child-log.ts'
import { until } from '../support/until.ts'

t.test('what a child process says', async (t) => {
  const shown: string[] = []
  const log = openChildLog(t.testdir(), 'workers', 40, (line) => shown.push(line))
  const lines = [
    { level: 30, msg: 'working' },
    { level: 40, queue: 'import.run', job_id: '7', msg: 'The gzip data ends early' },
    { level: 50, msg: 'could not fetch jobs', err: { message: 'gone' } },
  ].map((entry) => JSON.stringify(entry))
  log.read(Readable.from([...lines, 'no log entry', '{broken'].map((line) => `${line}\n`)))
  const all = `${lines.join('\n')}\nno log entry\n{broken\n`

  await until(async () => (await readFile(log.path, 'utf8').catch(() => '')) === all)
  t.same(
    shown,
    ['workers: import.run 7: The gzip data ends early', 'workers: could not fetch jobs (gone)'],
    'and on the screen what matters, with the job it is about',
  )
})

t.test('a log that is full becomes the one before, while its process runs', async (t) => {
  const stream = new PassThrough()
  const log = openChildLog(t.testdir({ 'api.log': 'a\nb\n' }), 'api', 40, () => undefined, 4)
  log.read(stream)
  const read = (path: string) => readFile(path, 'utf8').catch(() => '')
  for (const [line, before, now] of [
    ['c', 'a\nb\n', 'c\n'],
    ['d', 'a\nb\n', 'c\nd\n'],
    ['e\nf', 'c\nd\n', 'e\nf\n'],
    ['g', 'e\nf\n', 'g\n'],
  ] as const) {
    stream.write(`${line}\n`)
    await until(
      async () => (await read(`${log.path}.1`)) === before && (await read(log.path)) === now,
    )
  }
  t.pass('and no line is lost')
})
