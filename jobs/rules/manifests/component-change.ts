import { readHandoff, readModel, readOutput, readPolicy, readPrompt, readTool } from './contract.ts'
import { canonicalJson } from '../core/canonical-json.ts'
import { contentHash, oneForm } from './manifest-hash.ts'
import type { Component } from './manifest.ts'
import { modelFamily } from './model-name.ts'
import { compareSchemas, relationOf } from './schema-change.ts'
import { saysTheSame, withoutDocs } from './schema-docs.ts'
import { changedShare } from './text-change.ts'
import { compareTools, isTold, sameContent } from './tool-change.ts'
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
  if (type === 'subagent') return compareSubagents(before, after)
  if (sameContent(before, after)) {
    const sameVersion = before.component_version === after.component_version
    return sameVersion ? undefined : describeChange(before, DOC_ONLY)
  }
  if (type === 'prompt') return describePromptChange(before, after)
  if (type === 'output_contract') return describeOutputChange(before, after)
  return describeChange(before, wordsFor(type, 'changed'))
}

/** Whether two models are of one provider, as far as both name theirs, and of one family. */
export function isOneFamily(a: Component, b: Component) {
  return isOneProvider(a, b) && modelFamily(readModel(a).model) === modelFamily(readModel(b).model)
}

function isOneProvider(a: Component, b: Component) {
  const [old, now] = [readModel(a).provider, readModel(b).provider]
  return old === null || now === null || old === now
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
    severity: harmless || isAddition(change) ? 'minor' : 'moderate',
    breaking: parts.some(({ kind, relation }) => kind === 'unknown' || relation === 'breaking'),
    details: [
      ...detailsOf(change.arguments, 'arguments', required),
      ...detailsOf(change.output, 'output'),
    ],
  })
}

/** Whether all that happened is that parameters came which nobody has to give. */
function isAddition({ arguments: { changes }, output: { relation } }: ToolChange) {
  const isHarmless = relation === 'equal' || relation === 'compatible'
  return isHarmless && changes.length > 0 && changes.every(isAdded)
}

/** By the worst thing that happened to a parameter. */
function toolChangeType({ changes }: SideChange): ChangeType {
  const top = changes.filter(({ path }) => /^\/[^/]*$/.test(path)).map(({ change }) => change)
  if (top.includes('required_added')) return 'tool_schema_required_param_added'
  if (top.includes('property_removed')) return 'tool_schema_param_removed'
  const onlyAdded = changes.length > 0 && changes.every(isAdded)
  return onlyAdded ? 'tool_schema_optional_param_added' : 'tool_schema_changed'
}

function isAdded({ change }: SideChange['changes'][number]) {
  return change === 'property_added'
}

function detailsOf(
  { kind, changes }: SideChange,
  role: 'arguments' | 'output',
  required: ReadonlySet<unknown> = new Set(),
): ChangeDetail[] {
  if (kind === 'unknown') return [{ change: 'schema_unverifiable', role }]
  // In a keyword that the comparison does not know, or from a hash of the schema to the schema.
  if (kind === 'checked' && changes.length === 0) return [{ change: 'schema_changed', role }]
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

/**
 * Configuration only is minor, another version of the family moderate, another family major. Of a model
 * told by hashes nobody knows which of these it is: moderate.
 */
function compareModels(before: Component, after: Component): SurfaceChange | undefined {
  const [old, now] = [readModel(before), readModel(after)]
  const details = [
    { change: 'provider', from: old.provider, to: now.provider },
    { change: 'model', from: old.model, to: now.model },
    { change: 'version', from: before.component_version, to: after.component_version },
  ].filter(({ from, to }) => from !== to)
  const renamed = before.component_name !== after.component_name
  const told = isTold(before) && isTold(after)
  if (!renamed && details.length === 0) {
    if (sameContent(before, after)) return undefined
    if (told && contentHash(before) === contentHash(after)) return describeChange(before, DOC_ONLY)
  }
  const isConfigured = told && details.length === 0
  return describeChange(before, {
    ...wordsFor('model', 'changed'),
    severity: isConfigured ? 'minor' : isOneFamily(before, after) ? 'moderate' : 'major',
    breaking: !isOneProvider(before, after),
    new_name: renamed ? after.component_name : null,
    details,
  })
}

/** Breaking when its version, its reference or what it is handed may be another than before. */
function compareSubagents(before: Component, after: Component): SurfaceChange | undefined {
  const [old, now] = [readHandoff(before), readHandoff(after)]
  const schemas = [old, now].map(({ schema }) => schema && canonicalJson(withoutDocs(schema)))
  const details: ChangeDetail[] = [
    { change: 'version', from: before.component_version, to: after.component_version },
    { change: 'pin', from: old.pin, to: now.pin },
    { change: 'handoff_schema_hash', from: old.schemaHash, to: now.schemaHash },
  ].filter(({ from, to }) => from !== to)
  if (schemas[0] !== schemas[1]) details.push({ change: 'handoff_schema' })
  if (details.length === 0 && sameContent(before, after)) return undefined
  const breaking = details.length > 0 || !isTold(before) || !isTold(after)
  return describeChange(before, { ...wordsFor('subagent', 'changed'), breaking, details })
}

/** By the share of the text that is new: up to 5 % minor, up to 30 % moderate. */
function describePromptChange(before: Component, after: Component): SurfaceChange {
  const words = wordsFor('prompt', 'changed')
  const [old, now] = [readPrompt(before).text, readPrompt(after).text]
  if (old === null || now === null) return describeChange(before, words)
  const share = changedShare(old, now)
  return describeChange(before, {
    ...words,
    severity: share <= 0.05 ? 'minor' : share <= 0.3 ? 'moderate' : 'major',
    details: [{ change: 'text_share_changed', to: Math.round(share * 1000) / 1000 }],
  })
}

/** Whatever changes breaks who reads the output: strictness is major, all else moderate. */
function describeOutputChange(before: Component, after: Component): SurfaceChange {
  const [old, now] = [readOutput(before), readOutput(after)]
  const areTold = old.schema !== null && now.schema !== null
  const facts: ChangeDetail[] = [
    { change: 'format', from: old.format, to: now.format },
    { change: 'schema_told', from: old.schema !== null, to: now.schema !== null },
    ...(areTold ? [] : [{ change: 'schema_hash', from: old.schemaHash, to: now.schemaHash }]),
    { change: 'strict', from: old.strict, to: now.strict },
  ].filter(({ from, to }) => from !== to)
  if (policyOf(before) !== policyOf(after)) facts.push({ change: 'policy' })
  const changed = new Set(facts.map(({ change }) => change))
  const isSameSchema = saysTheSame(old.schema ?? {}, now.schema ?? {})
  const isSame = facts.length === 0 && isSameSchema
  if (isSame && tellsOutput(before) && tellsOutput(after)) return describeChange(before, DOC_ONLY)
  const changes = old.schema && now.schema ? compareSchemas(old.schema, now.schema) : []
  const kind = areTold && !isSameSchema ? 'checked' : 'same'
  const relation = relationOf(changes, 'output')
  return describeChange(before, {
    ...wordsFor('output_contract', 'changed'),
    severity: changed.has('strict') ? 'major' : 'moderate',
    details: [...facts, ...detailsOf({ kind, changes, relation }, 'output')],
  })
}

function policyOf(contract: Component) {
  return canonicalJson(contract.schema_json['policy'] ?? readPolicy([contract]))
}

/** Whether what is told of an output contract is all there is: a client's own hash may cover more. */
function tellsOutput(contract: Component) {
  const { format, schema, schemaHash } = readOutput(contract)
  if (schema !== null || (format !== null && schemaHash !== null)) return true
  return format !== null && oneForm(contract.content_hash) === contentHash(contract)
}
