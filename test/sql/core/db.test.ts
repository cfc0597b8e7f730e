import assert from 'node:assert/strict'
import postgres from 'postgres'
import t from 'tap'
import { jsonText, openDatabase, storableText } from '../../../sql/core/db.ts'
import type { Sql } from '../../../sql/core/db.ts'
import { openTestDatabase } from '../../support/database.ts'
import fc from '../../support/property.ts'

t.test('the connection pool', async (t) => {
  const { url, sql } = await openTestDatabase(t)

  t.test('survives values that cannot be written', async (t) => {
    const pool = openDatabase(url, { max: CONNECTIONS })
    t.teardown(() => pool.end({ timeout: 1 }))
    t.equal(await countSettled(pool, 600_000), BAD_QUERIES)
    t.equal(await countAnswering(pool, 600_000), CONNECTIONS)
  })

  t.test('would not, if it were the driver alone', async (t) => {
    const plain = postgres(url, { max: CONNECTIONS })
    t.teardown(() => plain.end({ timeout: 1 }))
    t.not(await countSettled(plain as unknown as Sql, 3000), BAD_QUERIES)
    t.not(await countAnswering(plain as unknown as Sql, 3000), CONNECTIONS)
  })

  t.test('reads and writes the types we use', async (t) => {
    const at = new Date('2026-02-03T04:05:06.789Z')
    const bytes = Buffer.from([0, 1, 255])
    const json = { a: [1, 'x', null] }
    const [row] = await sql`
      select ${at}::timestamptz as at, ${bytes}::bytea as bytes, ${2 ** 53 - 1}::int8 as big,
        ${jsonText(json)}::text::jsonb as json, ${undefined as never}::text as nothing,
        ${[1, 2]}::int[] as numbers, ${[at.toISOString()]}::timestamptz[] as times`
    t.strictSame(row, {
      at,
      bytes,
      big: 2 ** 53 - 1,
      json,
      nothing: null,
      numbers: [1, 2],
      times: [at],
    })
  })

  t.test('reads bytes as they are, not as text', async (t) => {
    const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i))
    for (const pooled of [false, true]) {
      const pool = openDatabase(url, { max: 1, pooled })
      t.teardown(() => pool.end({ timeout: 1 }))
      const connection = await pool.reserve()
      // Text would be read wrongly.
      await connection`set bytea_output = 'escape'`
      for (let run = 0; run < 3; run++) {
        const rows = await connection`
          select n, ${bytes}::bytea as bytes, null::bytea as none, 'x' as text
          from generate_series(1, 2) as n`
        t.strictSame([...rows], [row(1), row(2)])
      }
      const cursor = connection`select n, ${bytes}::bytea as bytes from generate_series(1, 2) as n`
      const read: unknown[] = []
      for await (const some of cursor.cursor(1)) read.push(...some)
      t.strictSame(
        read,
        [1, 2].map((n) => ({ n, bytes })),
      )
    }
    function row(n: number) {
      return { n, bytes, none: null, text: 'x' }
    }
  })

  t.test('sends the same values again when a result has another type', async (t) => {
    const pool = openDatabase(url, { max: 1 })
    t.teardown(() => pool.end({ timeout: 1 }))
    await pool`create table changing (bytes bytea, n int)`
    const insert = () =>
      pool`insert into changing values (${Buffer.from([1, 2])}, 3) returning bytes, n`
    await insert()
    await pool`alter table changing alter n type bigint`
    t.strictSame([...(await insert())], [{ bytes: Buffer.from([1, 2]), n: 3 }])
  })

  t.test('refuses as bytes what is none', async (t) => {
    await t.rejects(Promise.resolve(sql`select ${'x' as unknown as Buffer}::bytea`), /hexadecimal/)
  })

  t.test('any JSON value can be stored once jsonText has written it', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue({ stringUnit: 'binary' })), async (value) => {
        const [row] = await sql<{ stored: unknown }[]>`
          select ${jsonText(value)}::text::jsonb as stored`
        assert.deepStrictEqual(row?.stored, asStored(value))
      }),
      { numRuns: 300 },
    )
  })

  t.test('any text can be stored once storableText has seen it', async () => {
    await fc.assert(
      fc.asyncProperty(anyText, async (text) => {
        const [row] = await sql<{ stored: string }[]>`select ${storableText(text)}::text as stored`
        const whole = text.isWellFormed() && !text.includes('\0')
        assert.equal(row?.stored, whole ? text : storableText(text))
      }),
      { numRuns: 300 },
    )
  })
})

const CONNECTIONS = 4
const BAD_QUERIES = 160
const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((n) => String.fromCharCode(n)),
})

/** How many of many bad queries come to an end, sent at once so that connections have several under way. */
async function countSettled(sql: Sql, patienceMs: number) {
  const bad = [
    () => sql`select ${new Date(NaN)}::timestamptz`,
    () => sql`select ${{ n: 1n } as never}::jsonb`,
    () => sql`select ${'x' as unknown as Buffer}::bytea, ${1 as unknown as Buffer}::bytea`,
    () => sql`select ${undefined as never}::int / 0`,
  ]
  let settled = 0
  const queries = Array.from({ length: BAD_QUERIES }, (_, i) =>
    Promise.resolve(bad[i % bad.length]?.()).then(
      () => settled++,
      () => settled++,
    ),
  )
  await Promise.race([Promise.all(queries), pause(patienceMs)])
  return settled
}

/** How many connections of the pool answer, all asked at the same time. */
async function countAnswering(sql: Sql, patienceMs: number) {
  const answers = Array.from({ length: CONNECTIONS }, async () => {
    const asked = sql`select pg_sleep(0.05), pg_backend_pid() as pid`.then(
      ([row]) => row?.['pid'] as number,
    )
    return Promise.race([asked, pause(patienceMs)])
  })
  return new Set((await Promise.all(answers)).filter((pid) => pid !== undefined)).size
}

const pause = (ms: number) =>
  new Promise<undefined>((resolve) => {
    setTimeout(() => resolve(undefined), ms).unref()
  })

/** What JSON and Postgres make of a value: -0 is 0, what cannot be stored is replaced. */
function asStored(value: unknown): unknown {
  if (typeof value === 'string') return storableText(value)
  if (typeof value !== 'object' || value === null) return Object.is(value, -0) ? 0 : value
  if (Array.isArray(value)) return value.map(asStored)
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [storableText(k), asStored(v)]))
}
