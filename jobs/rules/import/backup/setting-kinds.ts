import { freeForm, oneOf, shape, text } from '../../../shape.ts'
import { CONFIGS } from '../../evals/check-configs.ts'
import { PRESETS, TRUSTS } from '../../evals/decision-policy.ts'
import type { PolicySettings, Trust } from '../../evals/decision-policy.ts'
import type { CheckType } from '../../evals/evaluators.ts'
import { keep, patterns } from '../../datasets/redaction-shapes.ts'
import { isUuid } from '../../core/uuid.ts'
import type { Members } from '../format.ts'
import { share, versionNumber } from './json-shapes.ts'
import { kind } from './kind.ts'

const weights = Object.fromEntries(TRUSTS.map((trust) => [trust, share()])) as Record<
  Trust,
  ReturnType<typeof share>
>
const settings = shape({
  preset: oneOf(...PRESETS),
  keep_at: share(),
  drop_at: share(),
  source_weights: shape(weights),
  on_doubt: oneOf('review', 'replay'),
})

/** Characters. A trace may make its project, whose name is as long as any name in it. */
const MAX_WORKSPACE_NAME = 128
export const MAX_PROJECT_NAME = 256

/** Has neither id nor time: an empty installation has one of its own, which is the same by its name. */
export const workspace = kind('workspace', 'workspaces', {
  members: { name: 'text' },
  shapes: { name: text(MAX_WORKSPACE_NAME) },
  fault: faultOfName,
  key: ['name'],
  since: 'created_at',
  without: ['id', 'created_at'],
})

/** As `workspace`. */
export const project = kind('project', 'projects', {
  members: { name: 'text', workspace: 'workspace' },
  shapes: { name: text(MAX_PROJECT_NAME) },
  fault: faultOfName,
  key: ['name'],
  since: 'created_at',
  without: ['id', 'created_at'],
})

export const decisionPolicy = kind('decision_policy', 'decision_policies', {
  members: {
    project: 'project',
    agent_name: 'text',
    version: 'int',
    preset: 'text',
    settings: 'json',
    content_hash: 'text',
    created_by: 'uuid?',
    created_at: 'time',
  },
  shapes: { settings, version: versionNumber() },
  fault({ settings }) {
    const { keep_at, drop_at } = settings as PolicySettings
    return drop_at > keep_at ? 'settings.drop_at must not be above keep_at' : undefined
  },
  key: ['project', 'agent_name', 'version'],
  since: 'created_at',
})

export const evaluator = kind('evaluator', 'evaluators', {
  members: {
    project: 'project',
    id: 'uuid',
    name: 'text',
    agent_name: 'text',
    type: 'text',
    eval_type: 'text',
    category: 'text?',
    display_name: 'text?',
    description: 'text?',
    prompt_template: 'text?',
    threshold: 'float?',
    config: 'json',
    created_at: 'time',
  },
  shapes: { config: freeForm() },
  fault({ type, config }) {
    if (!Object.hasOwn(CONFIGS, type as string)) return undefined
    const fault = CONFIGS[type as CheckType].validate(config, { convert: false }).error
    return fault && `config: ${fault.message}`
  },
  key: ['project', 'name', 'agent_name'],
  since: 'created_at',
})

export const redactionSettings = kind('redaction_settings', 'redaction_settings', {
  members: {
    project: 'project',
    patterns: 'json',
    keep: 'texts',
    updated_by: 'uuid?',
    updated_at: 'time',
  },
  shapes: { patterns, keep },
  key: ['project'],
  since: null,
})

/** Requests give either a name or an id. */
function faultOfName({ name }: Members) {
  return isUuid(name as string) ? 'name must not look like an id' : undefined
}
