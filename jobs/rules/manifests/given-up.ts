import type { CompatDecision } from './compat-decision.ts'
import { found } from './violation.ts'

const WHY =
  'examining it took all the memory or time there is for one trace, twice; send less in one trace'

/** What a trace that cannot be examined comes to when it is compared: nobody can tell that it fits. */
export const NOT_EXAMINABLE: CompatDecision = {
  verdict: 'drop',
  needs_review: false,
  reasons: [
    {
      action: 'drop',
      code: 'trace_not_examinable',
      component_type: null,
      subject: 'trace',
      detail: WHY,
    },
  ],
  repair_rules: [],
}

/** What is shown in place of the violations of a trace that cannot be examined. */
export const NOT_EXAMINED = found('trace_not_examinable', 'trace', {
  expected: 'a trace that can be examined',
  observed: WHY,
})
