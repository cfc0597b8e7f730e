import { createHash } from 'node:crypto'
import { canonicalJson } from '../core/canonical-json.ts'
import { byTypeAndName } from './manifest.ts'
import type { Component } from './manifest.ts'

/** SHA-256 over what a component was given; for a model, without what does not change its answers. */
export function contentHash(component: Pick<Component, 'component_type' | 'schema_json'>): string {
  const { component_type, schema_json } = component
  return sha256(component_type === 'model' ? normalizeModel(schema_json) : schema_json)
}

/** The identity of a manifest: a hash over its tools and models. Prompts and the rest do not count. */
export function manifestHash(components: readonly Component[]): string {
  return contractHash(
    components.filter(({ component_type: type }) => type === 'tool' || type === 'model'),
  )
}

/**
 * The identities that a manifest has where the hashes of its components are all written as `sha256:` and
 * digits in lower case, and where they are all written as the digits alone.
 */
export function manifestHashForms(components: readonly Component[]): string[] {
  return ['sha256:', ''].map((prefix) =>
    manifestHash(
      components.map((component) => {
        const hash = readHash(component.content_hash)
        return hash ? { ...component, content_hash: hash.replace('sha256:', prefix) } : component
      }),
    ),
  )
}

/** A hash over all components. */
export function contractHash(components: readonly Component[]): string {
  const sorted = [...components].sort(byTypeAndName)
  return sha256(
    sorted.map((c) => [c.component_type, c.component_name, c.component_version, c.content_hash]),
  )
}

/** `sha256:` and 64 hexadecimal digits in lower case; undefined for a text that is no such hash. */
export function readHash(text: string): string | undefined {
  const digits = /^(?:sha256:)?([0-9a-f]{64})$/i.exec(text)?.[1]
  return digits && `sha256:${digits.toLowerCase()}`
}

/** A hash as `readHash` writes it; any other text, such as the name of a version, as it is. */
export function oneForm(hash: string): string {
  return readHash(hash) ?? hash
}

/**
 * A model's settings as they are compared: temperature to 0.1, top_p to 0.05, and without
 * max_retries, timeout, rate_limit and batch_size, which say how it is called and not what it is.
 */
function normalizeModel(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(normalizeModel)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => !NOT_OF_THE_MODEL.has(name))
      .map(([name, member]) => [name, rounded(name, member)]),
  )
}

function rounded(name: string, value: unknown): unknown {
  const steps = STEPS_IN_ONE[name]
  if (steps === undefined || typeof value !== 'number') return normalizeModel(value)
  return Math.round(value * steps) / steps
}

function sha256(value: unknown) {
  return `sha256:${createHash('sha256').update(canonicalJson(value)).digest('hex')}`
}

const NOT_OF_THE_MODEL = new Set(['max_retries', 'timeout', 'rate_limit', 'batch_size'])
const STEPS_IN_ONE: Readonly<Record<string, number>> = { temperature: 10, top_p: 20 }
