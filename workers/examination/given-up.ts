import { NOT_EXAMINABLE, NOT_EXAMINED } from '../../jobs/rules/manifests/given-up.ts'
import type { Examination, ExaminationRequest } from './examination.ts'

/** What is said of a trace that cannot be examined. */
export function givenUp(isCompared: boolean, wants: ExaminationRequest['wants']): Examination {
  return {
    compatibility: isCompared ? NOT_EXAMINABLE : null,
    violations: wants === 'all' ? [NOT_EXAMINED] : [],
    edges: [],
    given_up: true,
  }
}
