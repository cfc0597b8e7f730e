import type { Dropped } from '../../jobs/rules/datasets/messages.ts'
import { isStorableText } from '../../jobs/rules/core/storable.ts'
import { provenanceText } from '../../jobs/rules/datasets/provenance.ts'
import type { PairOrigin } from '../../jobs/rules/datasets/provenance.ts'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import type { Row } from '../../jobs/rules/datasets/row-writer.ts'
import { SIGNATURE_BINS, SIGNATURE_BYTES } from '../../jobs/rules/datasets/signature.ts'
import type { ListedTrace } from './listed-trace.ts'

/** The lines of rows, one after the other, and what is known of each row. */
export interface MadeRows {
  readonly lines: Uint8Array<ArrayBuffer>
  readonly rows: readonly MadeRow[]
  /** Those of the rows, one after the other; empty where no near-duplicates are looked for. */
  readonly signatures: Int32Array<ArrayBuffer>
  /** The reasons why something gave no row, each as often as it came up. */
  readonly dropped: readonly string[]
  /** How many of the traces were taken; pass the others again. */
  readonly taken: number
}

export interface MadeRow {
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

/**
 * Collects what is made of a batch.
 * @param spare memory that the lines are put into where they fit
 */
export function openOutput(recipe: Recipe, spare = new ArrayBuffer(0)) {
  const pieces: Buffer[] = []
  const rows: MadeRow[] = []
  const signatures: Int32Array[] = []
  const dropped: string[] = []
  let bytes = 0
  function drop(reason: string, n = 1) {
    for (let i = 0; i < n; i++) dropped.push(reason)
  }
  return {
    drop,
    bytes: () => bytes + signatures.length * SIGNATURE_BYTES,
    put(row: Row | Dropped, { trace, spanId, pair, lengthRatio }: Origin) {
      if ('reason' in row) return drop(row.reason)
      const tail = Buffer.from(`,"provenance":${provenanceText(trace, row, recipe, pair)}}\n`)
      const length = row.training.length - 1 + tail.length
      if (length > MAX_LINE_BYTES) return drop('too_long')
      pieces.push(row.training.subarray(0, -1), tail)
      bytes += length
      if (row.signature) signatures.push(row.signature)
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
      })
    },
    finish() {
      // Arrays with memory of their own, which can be transferred to another thread.
      const memory = spare.byteLength >= bytes ? spare : new ArrayBuffer(roomFor(bytes))
      const lines = new Uint8Array(memory, 0, bytes)
      let at = 0
      for (const piece of pieces) {
        lines.set(piece, at)
        at += piece.length
      }
      return { lines, rows, signatures: joined(signatures), dropped }
    },
  }
}

/** More than is needed, so that the lines of later batches fit as well. */
function roomFor(bytes: number) {
  return 2 ** Math.ceil(Math.log2(bytes))
}

function joined(signatures: readonly Int32Array[]) {
  const all = new Int32Array(signatures.length * SIGNATURE_BINS)
  for (const [i, signature] of signatures.entries()) all.set(signature, i * SIGNATURE_BINS)
  return all
}

/** Whatever reads the lines has buffers of twice this size. */
const MAX_LINE_BYTES = 16 << 20

export type Output = ReturnType<typeof openOutput>
interface Origin {
  readonly trace: ListedTrace
  readonly spanId: string | null
  readonly pair?: PairOrigin<ListedTrace>
  /** Of a pair of attempts. */
  readonly lengthRatio?: number
}
