import Joi from 'joi'
import { listOf } from '../../jobs/shape.ts'
import { explain } from '../../jobs/rules/manifests/change-sentence.ts'
import { COMPONENT_TYPES } from '../../jobs/rules/manifests/manifest.ts'
import type { ComponentType } from '../../jobs/rules/manifests/manifest.ts'
import { CHANGE_TYPES } from '../../jobs/rules/manifests/surface-change.ts'
import type { SurfaceChange } from '../../jobs/rules/manifests/surface-change.ts'
import { nullable } from '../fields.ts'

/** By component type: the surface of the agent contract that it is part of. */
const SURFACES: Readonly<Record<ComponentType, string>> = {
  tool: 'tools',
  model: 'model',
  prompt: 'prompt',
  skill: 'skills',
  subagent: 'subagents',
  output_contract: 'output',
  workflow: 'workflow',
  environment: 'environment',
  behavioral_policy: 'behavioral_policy',
  guardrail: 'guardrail',
  context_config: 'context_config',
}

export const changedSurfaceBody = Joi.object({
  surface: Joi.string()
    .valid(...Object.values(SURFACES))
    .required()
    .description('Of the agent contract'),
  change_type: Joi.string().valid('breaking', 'non_breaking').required(),
  details: Joi.string().required().description('A sentence for people'),
  severity: Joi.string().valid('minor', 'moderate', 'major').required(),
  kind: Joi.string()
    .valid(...CHANGE_TYPES)
    .required()
    .description('What happened, as a word for programs'),
  detail: listOf(Joi.object().unknown(true).label('ChangeDetail')).required(),
  component_type: Joi.string()
    .valid(...COMPONENT_TYPES)
    .required(),
  component_name: Joi.string().required(),
  new_name: nullable(Joi.string()),
  state: Joi.string().valid('doc_only', 'changed', 'added', 'removed', 'renamed').required(),
}).label('ChangedSurface')

export function viewChange(change: SurfaceChange) {
  return {
    surface: SURFACES[change.component_type],
    change_type: change.breaking ? 'breaking' : 'non_breaking',
    details: explain(change),
    severity: change.severity,
    kind: change.change_type,
    detail: change.details,
    component_type: change.component_type,
    component_name: change.component_name,
    new_name: change.new_name,
    state: change.state,
  }
}
