import { Writable } from 'node:stream'
import { openLog } from '../../ops/log.ts'
import type { Sql } from '../../sql/core/db.ts'

/**
 * A log that keeps every line, down to the least level, and a check that neither it nor any table or
 * queue of the database holds a raw API key, nor the log the hash of one. Every test file with a service
 * ends with that check.
 */
export function watchSecrets() {
  const lines: string[] = []
  const keep = new Writable({
    write(chunk: Buffer, _, done) {
      lines.push(chunk.toString())
      done()
    },
  })
  return {
    lines,
    log: openLog('test', 'trace', keep),
    /** @throws Error naming where a secret was found */
    async check(sql: Sql) {
      const found = [...(await findInLog(sql, lines)), ...(await findInTables(sql))]
      if (found.length > 0)
        throw new Error(`API keys or their hashes were found in ${found.join(', ')}`)
    },
  }
}

async function findInLog(sql: Sql, lines: readonly string[]) {
  const rows = await sql<{ hash: string }[]>`select encode(key_hash, 'hex') as hash from api_keys`
  const text = lines.join('')
  const isLeaked = KEY.test(text) || rows.some(({ hash }) => text.includes(hash))
  return isLeaked ? ['the log'] : []
}

/**
 * Names of tables, those of the queue included, of which a row as text matches one of the patterns: regular
 * expressions of PostgreSQL, or what `literally` makes. It is one statement: so many at once would open all
 * connections that a pool may have.
 */
export async function findInTables(sql: Sql, patterns: readonly string[] = [KEY_IN_TABLE]) {
  const tables = await sql<{ name: string }[]>`
    select format('%I.%I', relnamespace::regnamespace, relname) as name from pg_class
    where relnamespace in ('public'::regnamespace, 'pgboss'::regnamespace)
      and relkind in ('r', 'p') and not relispartition`
  const searches = tables.map(
    ({ name }) =>
      `select '${name}' as name where exists (select from ${name} t where t::text ~ any($1::text[]))`,
  )
  const found = await sql.unsafe<{ name: string }[]>(searches.join(' union all '), [patterns])
  return found.map(({ name }) => name)
}

/** The pattern of a text itself. PostgreSQL reads what `RegExp.escape` makes as another one. */
export const literally = (text: string) => `***=${text}`

const KEY = /svc_sk_[0-9A-Za-z]{38}/
/** As text, or as the hexadecimal that bytes are shown in. */
const KEY_IN_TABLE = `svc_sk_[0-9A-Za-z]{38}|${Buffer.from('svc_sk_').toString('hex')}([0-9a-f]{2}){38}`
