import t from 'tap'
import { endpoint } from '../../api/endpoint.ts'
import { jsonLines, jsonList } from '../../api/json-lines.ts'
import type { StreamedItem } from '../../api/json-lines.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('streamed answers', async (t) => {
  /** What is streamed next. */
  let items: () => AsyncIterable<StreamedItem> = () => listed([])
  const streamed = (path: string, answer: () => unknown) =>
    endpoint('GET', path, {
      summary: path,
      access: 'open',
      answers: {},
      handle: async () => answer(),
    })
  const { server } = await openService(t, {
    operations: [
      streamed('/lines', () => jsonLines('items.jsonl', items())),
      streamed('/list', () => jsonList('items', items())),
    ],
  })
  await server.start()
  const read = (path: string, init?: RequestInit) => fetch(`${server.info.uri}/api/v1${path}`, init)
  const textOf = async (path: string) => (await read(path)).text()

  t.test('are a line an item, or one object with a list', async (t) => {
    items = () => listed([{ a: '\n\ud800' }, pieces('{"b":', '[1]}'), { c: null }])
    const lines = await read('/lines')
    t.equal(lines.headers.get('content-type'), 'application/x-ndjson')
    t.equal(lines.headers.get('content-disposition'), 'attachment; filename="items.jsonl"')
    t.equal(await lines.text(), '{"a":"\\n\\ud800"}\n{"b":[1]}\n{"c":null}\n')
    const list = await read('/list')
    t.match(list.headers.get('content-type'), /^application\/json/)
    t.same(await list.json(), { items: [{ a: '\n\ud800' }, { b: [1] }, { c: null }] })
  })

  t.test('may have no items', async (t) => {
    items = () => listed([])
    t.equal(await textOf('/lines'), '')
    t.equal(await textOf('/list'), '{"items":[]}')
  })

  t.test(
    'make items no faster than they are read, and none once the client has gone',
    async (t) => {
      let made = 0
      let ended = false
      items = async function* () {
        try {
          for (; made < ENDLESS; made++) yield { text: 'x'.repeat(10_000) }
        } finally {
          ended = true
        }
      }
      const leaving = new AbortController()
      const { body } = await read('/lines', { signal: leaving.signal })
      await body?.getReader().read()
      leaving.abort()
      await until(() => ended)
      t.ok(made < ENDLESS, `${made} items were made`)
    },
  )

  for (const path of ['/lines', '/list']) {
    for (const encoding of ['identity', 'gzip']) {
      t.test(`break off ${path} in ${encoding} where an item cannot be made`, async (t) => {
        items = async function* () {
          yield { text: 'x'.repeat(100_000) }
          throw new Error('no more')
        }
        const answered = read(path, { headers: { 'accept-encoding': encoding } })
        await t.rejects(answered.then((response) => response.text()))
      })
    }
  }
})

async function* listed(items: readonly StreamedItem[]) {
  yield* items
}

async function* pieces(...texts: string[]) {
  yield* texts
}

/** Items that would take many GB. */
const ENDLESS = 1_000_000
