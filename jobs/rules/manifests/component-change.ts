import { readModel, readOutput, readPin, readPrompt, readTool } from './contract.ts'
import { contentHash } from './manifest-hash.ts'
import type { Component } from './manifest.ts'
import { modelFamily } from './model-name.ts'
import { compareSchemas, relationOf } from './schema-change.ts'
import { saysTheSame } from './schema-docs.ts'
import { similarity } from './text-similarity.ts'
import { compareTools, sameContent } from './tool-change.ts'
import type { SideChange, ToolChange } from './tool-change.ts'

import { describeChange, DOC_ONLY, wordsFor } from './surface-change.ts'
import type { ChangeDetail, ChangeType, SurfaceChange } from './surface-change.ts'

/** What became of a component; undefined when nothing is different. */
export function compareComponents(before: Component, after: Component): SurfaceChange | undefined {
  const type = before.component_type
  if (type === 'tool') {
    const change = compareTools(before, after)
    return change && describeToolChange(before, change, requiredOf(before, after))
  }
  if (type === 'model') return compareModels(before, after)
  if (sameContent(before, after)) {
    const sameVersion = before.component_version === after.component_version
    return sameVersion ? undefined : describeChange(before, DOC_ONLY)
  }
  if (type === 'prompt') return describePromptChange(before, after)
  if (type === 'output_contract') return describeOutputChange(before, after)
  if (type !== 'subagent') return describeChange(before, wordsFor(type, 'changed'))
  const details = [{ change: 'pin', from: readPin(before), to: readPin(after) }]
  return describeChange(before, { ...wordsFor(type, 'changed'), details })
}

/** Whether two models are of one provider, as far as both name theirs, and of one family. */
export function isOneFamily(a: Component, b: Component) {
  const [old, now] = [readModel(a), readModel(b)]
  const areNamed = old.provider !== null && now.provider !== null
  if (areNamed && old.provider !== now.provider) return false
  return modelFamily(old.model) === modelFamily(now.model)
}

function describeToolChange(
  tool: Component,
  change: ToolChange,
  required: ReadonlySet<unknown>,
): SurfaceChange {
  const parts = [change.arguments, change.output]
  if (parts.every(({ kind }) => kind === 'same')) return describeChange(tool, DOC_ONLY)
  const harmless = parts.every(({ relation: r }) => r === 'equal' || r === 'compatible')
  return describeChange(tool, {
    state: 'changed',
    change_type: toolChangeType(change.arguments),
    severity: harmless ? 'minor' : 'moderate',
    breaking: parts.some(({ kind, relation }) => kind === 'unknown' || relation === 'breaking'),
    details: [
      ...detailsOf(change.arguments, 'arguments', required),
      ...detailsOf(change.output, 'output'),
    ],
  })
}

/** By the worst thing that happened to a parameter. */
function toolChangeType({ changes }: SideChange): ChangeType {
  const top = changes.filter(({ path }) => /^\/[^/]*$/.test(path)).map(({ change }) => change)
  if (top.includes('required_added')) return 'tool_schema_required_param_added'
  if (top.includes('property_removed')) return 'tool_schema_param_removed'
  const onlyAdded = changes.length > 0 && changes.every(({ change }) => change === 'property_added')
  return onlyAdded ? 'tool_schema_optional_param_added' : 'tool_schema_changed'
}

function detailsOf(
  { kind, changes }: SideChange,
  role: 'arguments' | 'output',
  required: ReadonlySet<unknown> = new Set(),
): ChangeDetail[] {
  if (kind === 'unknown') return [{ change: 'schema_unverifiable', role }]
  return changes.map((change) => ({
    change: change.change,
    role,
    path: change.path,
    relation: relationOf([change], role),
    ...(required.has(parameterOf(change.path)) && { required: true as const }),
  }))
}

/** The parameter that a path leads into. */
function parameterOf(path: string) {
  return path.split('/')[1]?.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Parameters that either tool requires. */
function requiredOf(before: Component, after: Component) {
  const names = [readTool(before), readTool(after)].flatMap(({ input }): unknown[] => {
    const required: unknown = input?.['required']
    return Array.isArray(required) ? required : []
  })
  return new Set(names)
}

/** Configuration only is minor, another version of the family moderate, another family major. */
function compareModels(before: Component, after: Component): SurfaceChange | undefined {
  const [old, now] = [readModel(before), readModel(after)]
  const details = [
    { change: 'provider', from: old.provider, to: now.provider },
    { change: 'model', from: old.model, to: now.model },
    { change: 'version', from: before.component_version, to: after.component_version },
  ].filter(({ from, to }) => from !== to)
  const renamed = before.component_name !== after.component_name
  if (!renamed && details.length === 0) {
    if (sameContent(before, after)) return undefined
    const isGiven = Object.keys(before.schema_json).length > 0
    if (isGiven && contentHash(before) === contentHash(after))
      return describeChange(before, DOC_ONLY)
  }
  return describeChange(before, {
    ...wordsFor('model', 'changed'),
    severity: details.length === 0 ? 'minor' : isOneFamily(before, after) ? 'moderate' : 'major',
    new_name: renamed ? after.component_name : null,
    details,
  })
}

/** By the share of the text that is new: up to 5 % minor, up to 30 % moderate. */
function describePromptChange(before: Component, after: Component): SurfaceChange {
  const words = wordsFor('prompt', 'changed')
  const [old, now] = [readPrompt(before).text, readPrompt(after).text]
  if (old === null || now === null) return describeChange(before, words)
  const share = 1 - similarity(old, now)
  return describeChange(before, {
    ...words,
    severity: share <= 0.05 ? 'minor' : share <= 0.3 ? 'moderate' : 'major',
    details: [{ change: 'text_share_changed', to: Math.round(share * 1000) / 1000 }],
  })
}

/** Strictness is major, the schema moderate, the format alone minor. */
function describeOutputChange(before: Component, after: Component): SurfaceChange {
  const [old, now] = [readOutput(before), readOutput(after)]
  const facts: ChangeDetail[] = [
    { change: 'format', from: old.format, to: now.format },
    { change: 'schema_told', from: old.schema !== null, to: now.schema !== null },
    { change: 'strict', from: old.strict, to: now.strict },
  ].filter(({ from, to }) => from !== to)
  const changed = new Set(facts.map(({ change }) => change))
  const sameSchema = !changed.has('schema_told') && saysTheSame(old.schema ?? {}, now.schema ?? {})
  if (sameSchema && facts.length === 0 && old.format !== null)
    return describeChange(before, DOC_ONLY)
  const changes = old.schema && now.schema ? compareSchemas(old.schema, now.schema) : []
  const relation = relationOf(changes, 'output')
  const formatOnly = sameSchema && changed.has('format')
  return describeChange(before, {
    ...wordsFor('output_contract', 'changed'),
    severity: changed.has('strict') ? 'major' : formatOnly ? 'minor' : 'moderate',
    breaking: relation === 'breaking' || (changes.length === 0 && !formatOnly),
    details: [...facts, ...detailsOf({ kind: 'checked', changes, relation }, 'output')],
  })
}
