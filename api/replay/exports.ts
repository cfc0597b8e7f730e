import { VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { oneOf, textReference } from '../../jobs/shape.ts'
import { projectField } from '../fields.ts'

/** Query parameters of both exports. */
export const exportQuery = {
  agent_name: textReference(),
  verdict: oneOf(...VERDICTS).default('replay'),
  project: projectField,
  format: oneOf('json', 'jsonl')
    .default('json')
    .description('`jsonl`: one a line, without the object around them'),
}
