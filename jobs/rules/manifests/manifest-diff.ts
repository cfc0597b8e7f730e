import { order } from '../core/order.ts'
import { byTypeAndName } from './manifest.ts'
import type { Component, Manifest } from './manifest.ts'
import { compareComponents, isOneFamily } from './component-change.ts'
import { describeAddition, describeRemoval, describeRename, keyOf } from './surface-change.ts'
import type { Severity, SurfaceChange } from './surface-change.ts'
import { toolFingerprint } from './tool-change.ts'

/**
 * What is different in the new manifest, in byte order of type and name. Components are joined by
 * type and name; a tool that went and one that came are a rename when their arguments have one
 * schema, which no other of those has.
 */
export function diffManifests(before: Manifest, after: Manifest): SurfaceChange[] {
  const old = new Map(before.components.map((c) => [keyOf(c), c]))
  const now = new Map(after.components.map((c) => [keyOf(c), c]))
  const gone = before.components.filter((c) => !now.has(keyOf(c))).sort(byTypeAndName)
  const fresh = after.components.filter((c) => !old.has(keyOf(c))).sort(byTypeAndName)
  const renamed = pairRenamed(gone, fresh)
  const replaced = pairModels(gone, fresh)
  const paired = new Set([...renamed, ...replaced].flat())
  const kept = before.components.flatMap((c): Pair[] => {
    const counterpart = now.get(keyOf(c))
    return counterpart ? [[c, counterpart]] : []
  })
  return [
    ...[...kept, ...replaced].flatMap(([a, b]) => compareComponents(a, b) ?? []),
    ...renamed.map(([a, b]) => describeRename(a, b)),
    ...gone.filter((c) => !paired.has(c)).map(describeRemoval),
    ...fresh.filter((c) => !paired.has(c)).map(describeAddition),
  ].sort((a, b) => order(a.surface, b.surface))
}

/** The greatest severity of changes that can affect a trace; null without such changes. */
export function worstSeverity(changes: readonly SurfaceChange[]): Severity | null {
  const found = new Set(changes.filter(({ state }) => state !== 'doc_only').map((c) => c.severity))
  return SEVERITIES.findLast((severity) => found.has(severity)) ?? null
}

/** Which removed tools are which added ones under another name. */
function pairRenamed(gone: readonly Component[], fresh: readonly Component[]): Pair[] {
  const before = uniqueByFingerprint(gone)
  const after = uniqueByFingerprint(fresh)
  return [...before].flatMap(([fingerprint, tool]): Pair[] => {
    const counterpart = after.get(fingerprint)
    return tool && counterpart ? [[tool, counterpart]] : []
  })
}

/** Tools by fingerprint; null where two have the same. */
function uniqueByFingerprint(components: readonly Component[]) {
  const found = new Map<string, Component | null>()
  for (const component of components) {
    const fingerprint = component.component_type === 'tool' ? toolFingerprint(component) : null
    if (fingerprint === null) continue
    found.set(fingerprint, found.has(fingerprint) ? null : component)
  }
  return found
}

/** A model that came stands for one that went: of its family first, else in order of names. */
function pairModels(gone: readonly Component[], fresh: readonly Component[]): Pair[] {
  const went = gone.filter(({ component_type }) => component_type === 'model')
  const came = new Set(fresh.filter(({ component_type }) => component_type === 'model'))
  const pairs: Pair[] = []
  const take = (model: Component, counterpart: Component | undefined) => {
    if (!counterpart) return
    came.delete(counterpart)
    pairs.push([model, counterpart])
  }
  for (const model of went)
    take(
      model,
      [...came].find((other) => isOneFamily(model, other)),
    )
  for (const model of went) {
    if (!pairs.some(([paired]) => paired === model)) take(model, [...came][0])
  }
  return pairs
}

type Pair = readonly [Component, Component]
const SEVERITIES = ['minor', 'moderate', 'major'] as const
