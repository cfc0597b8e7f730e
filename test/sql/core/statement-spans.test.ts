import { SpanKind } from '@opentelemetry/api'
import t from 'tap'
import { inSpan } from '../../../jobs/spans.ts'
import { sendCopy } from '../../../sql/core/db.ts'
import type { Sql } from '../../../sql/core/db.ts'
import { traceStatements } from '../../../sql/core/statement-spans.ts'
import { openTestDatabase } from '../../support/database.ts'
import { recordSpans } from '../../support/spans.ts'

t.test('the span of a statement', async (t) => {
  const exporter = recordSpans()
  traceStatements()
  const { sql } = await openTestDatabase(t)
  await sql`create table things (n int)`

  /** The spans of the statements that are sent in a span. */
  async function spansOf(act: (sql: Sql) => Promise<unknown>) {
    exporter.reset()
    await inSpan('all', { kind: SpanKind.INTERNAL }, async () => act(sql)).catch(() => undefined)
    const spans = exporter.getFinishedSpans()
    const all = spans.find(({ name }) => name === 'all')
    const statements = spans.filter((span) => span !== all)
    for (const { parentSpanContext } of statements) {
      t.equal(parentSpanContext?.spanId, all?.spanContext().spanId)
    }
    return statements.map(({ name, attributes }) => ({
      name,
      text: String(attributes['db.query.text']).replaceAll(/\s+/g, ' ').trim(),
      error: attributes['error.type'],
    }))
  }

  t.test('has the text without the parameters', async (t) => {
    const where = sql`where n = ${4711}`
    t.match(await spansOf(async () => sql`select n from things ${where}`), [
      { name: 'select', text: 'select n from things where n = $1', error: undefined },
    ])
  })

  t.test('is there for each statement of a transaction, and for texts', async (t) => {
    const spans = await spansOf(() =>
      sql.begin(async (tx) => {
        await tx`insert into things values (${1})`
        await tx.unsafe('select $1::int', [2])
      }),
    )
    const texts = spans.map(({ text }) => text)
    t.match(texts, ['begin', 'insert into things values ($1)', 'select $1::int', 'commit'])
  })

  t.test('says what error ended it, and not what it was about', async (t) => {
    const spans = await spansOf(async () => sql`select ${'secret'}::text::int`)
    t.match(spans, [{ name: 'select', error: '22P02' }])
    t.notMatch(JSON.stringify(exporter.getFinishedSpans().map((span) => span.events)), 'secret')
  })

  t.test('is there for a copy, and not for a cursor', async (t) => {
    const copied = await spansOf(() =>
      sql.begin(async (tx) => sendCopy(tx`copy things from stdin`, [Buffer.from('1\n')])),
    )
    t.match(
      copied.map(({ name }) => name),
      ['begin', 'copy', 'commit'],
    )
    const read = await spansOf(async () => {
      for await (const _ of sql`select n from things`.cursor(1));
    })
    t.same(read, [])
  })

  t.test('is there within a span only', async (t) => {
    exporter.reset()
    await sql`select 1`
    t.same(exporter.getFinishedSpans(), [])
  })
})
