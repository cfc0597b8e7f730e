import { setImmediate } from 'node:timers/promises'
import { isObject } from '../../../jobs/rules/core/reader.ts'
import { parseJson } from '../../../jobs/rules/core/parse-json.ts'
import { MAX_RECORD_BYTES } from '../containers/split-records.ts'
import type { SourceAnswer } from './platform.ts'
import { findMember } from './row-member.ts'

export interface Metadata {
  /**
   * Reads a page whose metadata is whole. Langfuse cuts its values, except those of keys that are named, so
   * that a page with cut ones is read again; later pages name these keys at once.
   * @param read asks for the page with these keys, joined by commas
   */
  complete(read: (keys?: string) => Promise<SourceAnswer>): Promise<WholePage>
}

export interface WholePage {
  readonly answer: SourceAnswer
  /** Values that stayed cut, of keys that cannot be named or are too many. */
  readonly losses: Readonly<Record<string, number>>
}

export function openMetadata(): Metadata {
  const named = new Set<string>()
  return {
    async complete(read) {
      const ask = async () => {
        const answer = await read(named.size > 0 ? [...named].join() : undefined)
        return { answer, cut: await findCut(answer.rows, named) }
      }
      // Either answer may be large: the first one is let go before the second comes.
      let page: Awaited<ReturnType<typeof ask>> | undefined = await ask()
      const news = [...page.cut.keys()].filter((key) => mayName(named, key))
      if (news.length > 0) page = undefined
      const { answer, cut } = page ?? (await ask())
      const lost = [...cut.values()].reduce((sum, n) => sum + n, 0)
      return { answer, losses: lost > 0 ? { metadata_cut: lost } : {} }
    },
  }
}

/** Names a key from now on, where there is room for it. */
function mayName(named: Set<string>, key: string) {
  const length = [...named, key].reduce((sum, each) => sum + encodeURIComponent(each).length + 1, 0)
  if (key === '' || key !== key.trim() || key.includes(',') || length > MAX_NAMED) return false
  named.add(key)
  return true
}

/**
 * How many values are as long as the cut leaves them, by key. Rows that are too long for records are left
 * out: they are lost anyway.
 */
async function findCut(rows: readonly Buffer[], named: ReadonlySet<string>) {
  const cut = new Map<string, number>()
  let bytes = 0
  for (const row of rows) {
    bytes += row.length
    if (bytes > BYTES_TOGETHER) {
      bytes = 0
      await setImmediate()
    }
    const text = row.length > MAX_RECORD_BYTES ? undefined : findMember(row, 'metadata')
    const metadata = text && parseJson(text.toString())
    for (const [key, value] of isObject(metadata) ? Object.entries(metadata) : []) {
      if (mayBeCut(value) && !named.has(key)) cut.set(key, (cut.get(key) ?? 0) + 1)
    }
  }
  return cut
}

/** Whether a value has the length of one that was cut, in Unicode's characters. */
function mayBeCut(value: unknown) {
  if (typeof value !== 'string' || value.length > 2 * CUT_LENGTH) return false
  return value.length >= CUT_LENGTH && Array.from(value).length === CUT_LENGTH
}

/** Unicode's characters, of which each is one or two of ours. */
const CUT_LENGTH = 200
/** Characters of an address that name keys. */
const MAX_NAMED = 4000
const BYTES_TOGETHER = 1 << 20
