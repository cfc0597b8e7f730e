import Joi from 'joi'
import { anyText, count, freeForm, listOf, oneOf, recordOf, shape } from '../../../shape.ts'
import { COMPAT_ACTIONS } from '../../manifests/compat-policy.ts'
import { COMPONENT_TYPES } from '../../manifests/manifest.ts'
import { orNull } from './json-shapes.ts'

const TYPES = ['rename_tool', 'rename_param', 'drop_param', 'add_default', 'coerce'] as const

const tool = orNull(anyText())
const rule = Joi.alternatives(
  shape({ rule: oneOf('rename_tool'), tool: anyText(), to: anyText() }),
  shape({ rule: oneOf('rename_param'), tool, from: anyText(), to: anyText() }),
  shape({ rule: oneOf('drop_param'), tool, param: anyText() }),
  shape({ rule: oneOf('add_default'), tool, param: anyText(), value: Joi.any() }),
  shape({ rule: oneOf('coerce'), tool, param: anyText(), to: anyText() }),
)

/** The rules that a batch was approved with, by which its traces were repaired. */
export const batchShapes = {
  rules: listOf(
    shape({
      rule_index: count(),
      rule_type: oneOf(...TYPES),
      component_name: anyText(),
      details: freeForm(),
      rule,
    }),
  ),
  rule_counts: recordOf(count()),
}

/** Why a trace fits a manifest or not, and what would make it fit. */
export const fitShapes = {
  reasons: listOf(
    shape(
      {
        action: oneOf(...COMPAT_ACTIONS),
        code: anyText(),
        component_type: oneOf(...COMPONENT_TYPES, null),
        subject: anyText(),
      },
      { detail: anyText() },
    ),
  ),
  repair_rules: listOf(rule),
}
