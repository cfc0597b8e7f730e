import { readComponents } from './manifest-components.ts'
import { contractHash, manifestHash, oneForm, readHash } from './manifest-hash.ts'
import type { Component } from './manifest.ts'
import { reader } from '../core/reader.ts'
import type { Fault, Reader } from '../core/reader.ts'

/** A manifest as a client registers it. */
export interface Registration {
  agent_name: string
  components: Component[]
  /** `sha256:` and 64 digits; the client's own, or made from the components. */
  manifest_hash: string
  /** The same as the client wrote it. */
  shown_hash: string
  /** The client chose the hash, and so what makes a version. */
  has_own_hash: boolean
  contract_hash: string
  display_label: string | null
  detection_source: string | null
  is_closed_world: boolean
  /** True: active at once. False: a draft, whatever runs, until a person or an accepted check decides. */
  activate: boolean | null
  /** Supersedes nothing by being registered. */
  is_draft: boolean
  metadata: Record<string, unknown>
  project: string | undefined
}

export interface ComponentName {
  component_type: string
  component_name: string
}

export function readRegistration(value: unknown): { value: Registration } | { faults: Fault[] } {
  const faults: Fault[] = []
  const read = reader(value, '', faults)
  if (!read) return { faults }
  const components = readComponents(read.any('components'), faults)
  const given = read.name('manifest_hash')
  if (given === null && isEmpty(read.any('components'))) read.fault('components', NEEDED)
  const own = given === null ? undefined : readHash(given)
  if (given !== null && !own) read.fault('manifest_hash', 'must be a SHA-256 in hexadecimal')
  const agent_name = read.required('agent_name')
  const detection_source = read.name('detection_source')
  const registration = {
    agent_name,
    display_label: read.name('version_label'),
    detection_source,
    is_closed_world: read.flag('is_closed_world'),
    activate: read.has('activate') ? read.flag('activate') : null,
    is_draft: read.flag('draft') || detection_source === 'draft',
    metadata: readMetadata(read),
    project: read.name('project') ?? undefined,
  }
  if (faults.length > 0) return { faults }
  const manifest_hash = own ?? manifestHash(components)
  const hashes = { manifest_hash, shown_hash: given ?? manifest_hash, has_own_hash: given !== null }
  const contract_hash = contractHash(components)
  return { value: { ...registration, ...hashes, components, contract_hash } }
}

/**
 * Whether a registration makes its version the active one.
 * @param state the status of the stored version of its hash; `first` or `new` where there is none
 */
export function activatesAtOnce(
  { activate, is_draft }: Pick<Registration, 'activate' | 'is_draft'>,
  state: 'first' | 'new' | 'draft' | 'active' | 'superseded',
) {
  if (state === 'active') return false
  if (activate !== null) return activate
  return !is_draft && (state === 'first' || state === 'superseded')
}

/** Components in which two manifests differ that are of one hash. */
export function differingComponents(
  stored: readonly Component[],
  given: readonly Component[],
): ComponentName[] {
  const tell = ({ component_type, component_name }: Component) => ({
    component_type,
    component_name,
  })
  const text = (component: Component) =>
    JSON.stringify([tell(component), component.component_version, oneForm(component.content_hash)])
  const [known, told] = [new Set(stored.map(text)), new Set(given.map(text))]
  const changed = [
    ...given.filter((component) => !known.has(text(component))),
    ...stored.filter((component) => !told.has(text(component))),
  ].map(tell)
  return [...new Map(changed.map((name) => [JSON.stringify(name), name])).values()]
}

function isEmpty(components: unknown) {
  return (
    components === undefined ||
    components === null ||
    (Array.isArray(components) && components.length === 0)
  )
}

/** What deployed clients send beside is kept with the metadata. */
function readMetadata(read: Reader) {
  const beside = BESIDE.filter((name) => read.has(name)).map((name) => [name, read.any(name)])
  const metadata = { ...Object.fromEntries(beside), ...read.object('metadata') } as Record<
    string,
    unknown
  >
  if (Buffer.byteLength(JSON.stringify(metadata)) > MAX_METADATA_BYTES) {
    read.fault('metadata', `must have at most ${MAX_METADATA_BYTES} bytes`)
  }
  return metadata
}

/** What a registration without components is told. */
export const NEEDED = 'is required unless manifest_hash names a known version'
const BESIDE = ['agent_models_json', 'graph_topology_hash', 'component_summary_json']
const MAX_METADATA_BYTES = 64 << 10
