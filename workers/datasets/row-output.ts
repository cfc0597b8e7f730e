import type { Dropped } from '../../jobs/rules/datasets/messages.ts'
import { isStorableText } from '../../jobs/rules/core/storable.ts'
import { provenanceText } from '../../jobs/rules/datasets/provenance.ts'
import type { PairOrigin } from '../../jobs/rules/datasets/provenance.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { Row } from '../../jobs/rules/datasets/row-writer.ts'
import type { ListedTrace } from './listed-trace.ts'
import type { Place, Shard, ShardFiles } from './shard-files.ts'
import type { SignatureFile } from './signature-file.ts'

/** What is known of rows whose lines were written. */
export interface MadeRows {
  readonly rows: readonly MadeRow[]
  /** The reasons why something gave no row, each as often as it came up. */
  readonly dropped: readonly string[]
  /** The files that were completed: these rows and those before are all they have. */
  readonly files: readonly Shard[]
}

export interface MadeRow extends Place {
  readonly traceIndex: number
  /** The rejected trace of a pair; otherwise null. A corrected trace is both chosen and rejected. */
  readonly rejectedIndex: number | null
  /** The length ratio of a pair of attempts; otherwise null. */
  readonly lengthRatio: number | null
  readonly splitIndex: number
  readonly hash: Uint8Array
  readonly tokens: number
  readonly messages: number
  /** Of the call that it was made of; null where that has none. */
  readonly spanId: string | null
  readonly rareMembers: Row['rareMembers']
  readonly losses: Row['losses']
  readonly redactions: Row['redactions']
  /** Bytes of its line, line feed included. */
  readonly length: number
}

/** Writes rows into the files of their splits, and their signatures where near-duplicates are looked for. */
export function openOutput(recipe: Recipe, { files, signatures }: RowFiles) {
  let rows: MadeRow[] = []
  let dropped: string[] = []
  function drop(reason: string, n = 1) {
    for (let i = 0; i < n; i++) dropped.push(reason)
  }
  return {
    drop,
    put(row: Row | Dropped, { trace, spanId, pair, lengthRatio }: Origin) {
      if ('reason' in row) return drop(row.reason)
      const provenance = `,"provenance":${provenanceText(trace, row, recipe, pair)}}\n`
      const length = Buffer.byteLength(row.training) - 1 + Buffer.byteLength(provenance)
      if (length > MAX_LINE_BYTES) return drop('too_long')
      const place = files.write(trace.splitIndex, [row.training.slice(0, -1), provenance])
      if (row.signature) signatures.add(row.signature)
      rows.push({
        traceIndex: trace.index,
        rejectedIndex: pair?.rejected.index ?? null,
        lengthRatio: lengthRatio ?? null,
        splitIndex: trace.splitIndex,
        hash: row.hash,
        tokens: row.tokens,
        messages: row.messages,
        // Contents hold what no column of text can.
        spanId: isStorableText(spanId) ? spanId : null,
        rareMembers: row.rareMembers,
        losses: row.losses,
        redactions: row.redactions,
        length,
        ...place,
      })
    },
    /** Whether enough was put out to be taken. */
    isFull: () => rows.length + dropped.length >= TAKEN_ROWS,
    /** What was put out since it was called before. */
    take(): MadeRows {
      const made = { rows, dropped, files: files.takeFinished() }
      rows = []
      dropped = []
      return made
    },
  }
}

/** Whatever reads the lines has buffers of twice this size. */
const MAX_LINE_BYTES = 16 << 20
const TAKEN_ROWS = 1000

export type Output = ReturnType<typeof openOutput>
export interface RowFiles {
  readonly files: ShardFiles
  /** Gets those of all rows, in their order. */
  readonly signatures: SignatureFile
}
interface Origin {
  readonly trace: ListedTrace
  readonly spanId: string | null
  readonly pair?: PairOrigin<ListedTrace>
  /** Of a pair of attempts. */
  readonly lengthRatio?: number
}
