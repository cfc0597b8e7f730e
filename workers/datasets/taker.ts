import type { CandidateContent } from '../../jobs/rules/datasets/candidates.ts'
import type { ListedTrace } from './listed-trace.ts'
import type { Output } from './row-output.ts'

/** Takes traces one after the other, and puts out rows as soon as they cannot change any more. */
export interface Taker {
  /** @param tools those of the manifest the row is for, see `manifestTools` */
  take(trace: ListedTrace, content: CandidateContent, output: Output, tools?: string): void
  finish(output: Output): void
}
