import t from 'tap'
import { openReader } from '../../../support/read-upload.ts'
import fc from '../../../support/property.ts'

t.test('envelopes', async (t) => {
  const { read, readFromEverywhere } = await openReader(t)
  const normal = (records: readonly string[]) => records.map((each) => JSON.parse(each) as unknown)

  t.test('each kind of list is cut into its records', async (t) => {
    const span = { name: 'chat', trace_id: 't1', id: 's1' }
    const envelopes = [
      { traces: [{ id: 't1', project_name: 'p' }] },
      { runs: [{ id: 'r1', dotted_order: 'x' }], cursors: { next: 'c' } },
      { data: [{ id: 'o1', traceId: 't1' }], meta: { page: 1, totalPages: 3 } },
      { batch: [{ id: 'e1', type: 'trace-create', body: {} }], metadata: null },
      { project_name: 'p', spans: [span] },
      { spans: [{ id: 's1', input: { trace_id: 'not its own' }, context: { trace_id: 't1' } }] },
    ]
    for (const envelope of envelopes) {
      const list = Object.values(envelope).find((value) => Array.isArray(value))
      for (const text of [JSON.stringify(envelope), JSON.stringify(envelope, null, 2)]) {
        const found = await read(text)
        t.equal(found.container, 'envelope', text)
        t.strictSame(normal(found.records), list)
        t.strictSame(found.faults, [])
      }
    }
  })

  t.test('a page without records is empty', async (t) => {
    const found = await read('{"data": [], "meta": {"page": 4}}')
    t.match(found, { container: 'envelope', records: [], faults: [] })
  })

  t.test('a record that has such a list is no envelope', async (t) => {
    const records = [
      { trace_id: 'x', spans: [{ id: 's', span_type: 'tool' }], agent_name: 'a' },
      {
        spans: [{ id: 's', span_type: 'tool', attributes: { trace_id: 'other' } }],
        agent_name: 'a',
      },
      { spans: [], agent_name: 'a' },
      { agent_name: 'a', spans: [{ trace_id: 'x' }] },
      { trace: { id: 't' }, observations: [{ id: 'o' }] },
      { post: [{ id: 'r' }], patch: [] },
      { scores: [{ id: 't', name: 'n', value: 1 }] },
      { data: [1, 2], agent_name: 'a' },
    ]
    for (const record of records) {
      for (const indent of [0, 2]) {
        const text = JSON.stringify(record, null, indent)
        t.strictSame(normal((await read(text)).records), [record], text)
      }
    }
    const lines = records.map((each) => JSON.stringify(each))
    const found = await read(lines.join('\n'))
    t.strictSame([found.container, found.records], ['lines', lines])
    t.strictSame(found.lines, [1, 2, 3, 4, 5, 6, 7, 8])
  })

  t.test('envelopes and records may follow one another', async (t) => {
    const page = (from: number) => ({ data: [{ n: from }, { n: from + 1 }], meta: { page: from } })
    const record = { agent_name: 'a' }
    const files = [
      [page(0), page(2), page(4)].map((each) => JSON.stringify(each)).join('\n'),
      [page(0), page(2), page(4)].map((each) => JSON.stringify(each, null, 2)).join('\n\n'),
      [page(0), page(2), page(4)].map((each) => JSON.stringify(each)).join(''),
    ]
    for (const file of files) {
      const found = await readFromEverywhere(t, file, { chunkBytes: 1 })
      t.strictSame(
        normal(found.records),
        [0, 1, 2, 3, 4, 5].map((n) => ({ n })),
      )
      t.strictSame(found.lines, [1, 2, 3, 4, 5, 6])
      t.strictSame(found.faults, [])
    }
    const mixed = `${JSON.stringify(page(0))}\n${JSON.stringify(record)}\n[not JSON\n`
    t.match(await read(mixed), {
      container: 'lines',
      lines: [1, 2, 3, 4],
      faults: [],
    })
  })

  t.test('all lists of records of one envelope are read', async (t) => {
    const envelope = {
      traces: [{ n: 1 }],
      note: 'the "spans": [ are next',
      more: { spans: [{ n: 0 }], list: [[{ n: 0 }]] },
      list: [{ n: 0 }],
      spans: [{ n: 2 }, { n: 3 }],
      last: 'spans',
    }
    for (const indent of [0, 2]) {
      const found = await readFromEverywhere(t, JSON.stringify(envelope, null, indent), {
        chunkBytes: 1,
      })
      t.strictSame(normal(found.records), [{ n: 1 }, { n: 2 }, { n: 3 }])
      t.strictSame(found.faults, [])
    }
  })

  t.test('an envelope that ends early says so', async (t) => {
    t.match(await read('{"traces": [{"n": 1}'), { lines: [1], faults: [[2, 'truncated']] })
    t.match(await read('{"traces": [{"n": 1}], "me'), { lines: [1], faults: [[2, 'truncated']] })
    t.match(await read('{"data": [{"n": 1}]}\n{"data": [{"n": '), {
      lines: [1],
      faults: [[2, 'truncated']],
    })
  })

  t.test('requests of OpenTelemetry that have a line each stay lines, however long', async (t) => {
    for (const length of [1, 200_000]) {
      const line = JSON.stringify({ resourceSpans: [{ scopeSpans: [], text: 'x'.repeat(length) }] })
      const found = await read(`${line}\n{"resourceSpans":[{"cut\n${line}\n`)
      t.equal(found.container, 'lines')
      t.equal(found.records.length, 3, 'a line that was cut off costs only itself')
      t.strictSame([found.records[0], found.records[2]], [line, line])
    }
    const pretty = JSON.stringify({ resourceSpans: [{ n: 1 }, { n: 2 }] }, null, 1)
    t.strictSame(normal((await read(pretty)).records), [{ n: 1 }, { n: 2 }])
    const elements = Array.from({ length: 20 }, (_, n) => ({ n, text: 'x'.repeat(1 << 20) }))
    for (const name of ['resourceSpans', 'resource_spans']) {
      const large = await read(JSON.stringify({ [name]: elements }), { chunkBytes: 8 << 20 })
      t.match(large, { container: 'envelope', faults: [] })
      t.equal(large.records.length, 20, 'one that is larger than a record is cut')
      const line = JSON.stringify({ [name]: [{ n: 1 }, { n: 2 }] })
      t.equal((await read(`${line}\n${line}\n`)).container, 'lines')
    }
  })

  t.test('what is read does not depend on how the file is cut into chunks', async (t) => {
    const documents = fc.array(
      fc.record({
        list: fc.constantFrom('traces', 'runs', 'data', 'batch'),
        items: fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 4 }),
        more: fc.jsonValue(),
        indent: fc.constantFrom(0, 2),
      }),
      { minLength: 1, maxLength: 4 },
    )
    await fc.assert(
      fc.asyncProperty(documents, async (all) => {
        const file = all
          .map(({ list, items, more, indent }) =>
            JSON.stringify({ [list]: items, more }, null, indent),
          )
          .join('\n')
        const found = await readFromEverywhere(t, file, { chunkBytes: 1 })
        t.strictSame(
          found.records.map((each) => JSON.stringify(JSON.parse(each))),
          all.flatMap(({ items }) => items.map((item) => JSON.stringify(item))),
        )
      }),
      { numRuns: 30 },
    )
  })
})
