import t from 'tap'
import { ineligibility } from '../../../../jobs/rules/datasets/candidates.ts'
import type { Candidate } from '../../../../jobs/rules/datasets/candidates.ts'
import { completeRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import type { DatasetType } from '../../../../jobs/rules/datasets/recipe.ts'
import { candidate } from '../../../support/training-rows.ts'

t.test('traces that may not be used, or tell nothing, are not eligible', async (t) => {
  const reason = (type: DatasetType, of: Partial<Candidate>) =>
    ineligibility({ ...candidate, ...of }, completeRecipe(type, null, {}))
  t.equal(reason('sft', {}), undefined)
  t.equal(reason('sft', { verdict: 'drop', reasons: ['policy.consent'] }), 'policy.consent')
  t.equal(reason('kto', { verdict: 'drop', reasons: ['malformed.role'] }), 'malformed.role')
  t.equal(reason('kto', { eval_verdict: null }), 'unscored')
  t.equal(reason('kto', { eval_verdict: 'review' }), 'middling')
  t.equal(reason('kto', { eval_verdict: 'fail', verdict: 'drop' }), undefined)
  t.equal(reason('dpo', { quality: null }), 'unscored')
  t.equal(reason('dpo', { attempted: null }), 'no_task')
  t.equal(reason('dpo', { quality: 0.5 }), 'middling')
  t.equal(reason('dpo', { quality: null, attempted: null, annotation_id: 'a' }), undefined)
  t.equal(reason('dpo', { annotation_id: 'a', reasons: ['policy.consent'] }), 'policy.consent')
})

t.test('a trace to repair is eligible where its reasons have their patches', async (t) => {
  const recipe = completeRecipe('sft', null, {})
  const reason = (reasons: string[], of: Partial<Candidate> = {}) =>
    ineligibility({ ...candidate, verdict: 'repair', reasons, ...of }, recipe)
  const corrected = { annotation_id: 'a' }
  const revised = { repair: { batch_id: 'b' } as Candidate['repair'] }
  t.equal(reason(['step.masked']), undefined)
  t.equal(reason(['compat.repair']), 'unrepaired')
  t.equal(reason(['compat.repair'], revised), undefined)
  t.equal(reason(['output.corrected', 'score.bad'], corrected), undefined)
  t.equal(reason(['output.corrected', 'score.bad']), 'unrepaired', 'the correction is not taken')
  t.equal(reason(['step.masked', 'output.corrected']), undefined, 'it decides nothing')
  const behind = ['output.corrected', 'score.bad', 'compat.repair']
  t.equal(reason(behind, corrected), 'unrepaired')
  t.equal(reason(behind, { ...corrected, ...revised }), undefined)
  t.equal(reason(['output.odd', 'compat.repair'], revised), 'unrepaired')
  t.equal(reason(['compat.repair'], { verdict: 'keep' }), undefined)
})
