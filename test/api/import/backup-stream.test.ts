import { once } from 'node:events'
import t from 'tap'
import { backupStream } from '../../../api/import/backup-stream.ts'
import { kindOf } from '../../../jobs/rules/import/backup/read-line.ts'
import type { Line } from '../../../sql/import/backup/line-rows.ts'

t.test('a client that takes nothing for long has the stream broken off', async (t) => {
  const { pages, left } = openPages()
  const stream = backupStream(pages, 20)
  const broken = once(stream, 'error')
  await once(stream, 'readable')
  t.match(await broken, [{ message: /nothing for 20 ms/ }])
  await left
})

t.test('a client that goes on is waited for', async (t) => {
  const { pages } = openPages()
  let bytes = 0
  for await (const chunk of backupStream(pages, 5000)) bytes += (chunk as Uint8Array).length
  t.ok(bytes > 3_000_000)
})

/** Three pages of a MiB each, and when they are asked for no more. */
function openPages() {
  const { promise: left, resolve } = Promise.withResolvers<void>()
  async function* read(): AsyncGenerator<readonly Line[]> {
    try {
      for (let i = 0; i < 3; i++) yield [line(`${i}`.repeat(1 << 20))]
    } finally {
      resolve()
    }
  }
  return { pages: read(), left }
}

function line(name: string): Line {
  return { kind: kindOf('workspace'), row: [name], content: undefined }
}
