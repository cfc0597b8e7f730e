import { cut } from '../core/reader.ts'

/** Something a client sent with a trace that could not be stored as it was meant; the trace is stored. */
export interface TraceWarning {
  readonly code: 'invalid_score' | 'unknown_manifest'
  /** A sentence for people. */
  readonly message: string
}

/** The warning for a manifest_id that is none of the manifests of the trace's agent. */
export function unknownManifest(id: string): TraceWarning {
  const message = `manifest_id ${cut(id, MAX_SHOWN)} is none of the agent's manifests; it is kept as metadata.unknown_manifest_id`
  return { code: 'unknown_manifest', message }
}

/** Characters of a value that a warning shows. */
const MAX_SHOWN = 128
