import type { ContentForm } from '../../jobs/rules/traces/content.ts'
import type { Examination, ExaminationRequest } from './examination.ts'
import { givenUp } from './given-up.ts'
import type { Repair, RepairRequest } from './repair.ts'
import type { ExamineTask, RepairTask, ThreadReply } from './thread-protocol.ts'

/** One kind of work that the thread does on traces, with a result for each. */
export interface ThreadWork<Result> {
  /** What the thread is told beside the traces. */
  readonly told:
    Pick<ExamineTask, 'kind' | 'wants'> | Pick<RepairTask, 'kind' | 'wants' | 'approved' | 'form'>
  /** What is said of a trace that ended the thread. */
  readonly givenUp: Result
  /** What is said of one that did so before. */
  readonly knownGivenUp: Result
  isGivenUp(result: Result): boolean
  /** The results of a reply; undefined for a reply to other work. */
  read(reply: ThreadReply): Result[] | undefined
}

export function examinationWork({
  manifest,
  target,
  wants,
}: ExaminationRequest): ThreadWork<Examination> {
  const unknown = givenUp(manifest !== null && target !== null, wants)
  return {
    told: { kind: 'examine', wants },
    givenUp: unknown,
    knownGivenUp: unknown,
    isGivenUp: ({ given_up }) => given_up,
    read: (reply) => ('examinations' in reply ? reply.examinations : undefined),
  }
}

export function repairWork(
  { wants, approved }: RepairRequest,
  form: ContentForm,
): ThreadWork<Repair> {
  return {
    told: { kind: 'repair', wants, approved, form },
    givenUp: { kind: 'given_up' },
    // It is dropped where it is compared, so that no rule may repair it.
    knownGivenUp: { kind: 'ineligible' },
    isGivenUp: ({ kind }) => kind === 'given_up',
    read: (reply) => ('repairs' in reply ? reply.repairs : undefined),
  }
}
