import Joi from 'joi'
import * as manifestDiff from '../../jobs/rules/manifests/manifest-diff.ts'
import { listOf, shape, uuidReference } from '../../jobs/shape.ts'
import type { SurfaceChange } from '../../jobs/rules/manifests/surface-change.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable } from '../fields.ts'
import {
  findComparedManifest,
  findManifestPair,
  findVisibleManifest,
  manifestPath,
} from './manifest.ts'
import { changedSurfaceBody } from './surface-change.ts'

const counts = Joi.object()
  .pattern(Joi.string(), Joi.number().integer())
  .description('Changes by state and by severity')

export const diffManifests = endpoint('GET', '/manifests/{manifest_id}/diff', {
  summary: 'What a manifest changes against another one of its agent',
  access: 'key',
  params: manifestPath,
  query: shape({}, { against: uuidReference().description('Default the version before it') }),
  answers: {
    200: Joi.object({
      diff: nullable(
        Joi.object({
          old_manifest_id: Joi.string().guid().required(),
          new_manifest_id: Joi.string().guid().required(),
          changed_surfaces: listOf(changedSurfaceBody).required(),
          summary: counts.required(),
        }).label('ManifestDiff'),
      ),
      message: Joi.string(),
      verdict: Joi.string().valid('self_comparison'),
    }).label('ManifestDiffAnswer'),
    404: errorBody,
  },
  async handle({ context, principal, params, query }) {
    const manifest = await findVisibleManifest(context, principal, params.manifest_id)
    const against = query.against?.toLowerCase() ?? manifest.parent_manifest_id
    if (against === null) {
      return { diff: null, message: 'The first version of its agent has nothing before it' }
    }
    if (against === manifest.id) {
      const message = 'A manifest does not differ from itself'
      return { diff: null, message, verdict: 'self_comparison' }
    }
    const other = await findComparedManifest(context, principal, manifest, against)
    const pair = { before: other, after: manifest }
    const { before, after } = await findManifestPair(context, principal, pair)
    const changed_surfaces = manifestDiff.diffManifests(before, after)
    const summary = summarizeChanges(changed_surfaces)
    return {
      diff: { old_manifest_id: other.id, new_manifest_id: manifest.id, changed_surfaces, summary },
    }
  },
})

/** How many changes there are of each state and severity, and how many break something. */
function summarizeChanges(changes: readonly SurfaceChange[]) {
  const count = (is: (change: SurfaceChange) => boolean) => changes.filter(is).length
  const ofState = (state: SurfaceChange['state']) => count((change) => change.state === state)
  const ofSeverity = (severity: SurfaceChange['severity']) =>
    count((change) => change.severity === severity && change.state !== 'doc_only')
  return {
    total: changes.length,
    added: ofState('added'),
    removed: ofState('removed'),
    renamed: ofState('renamed'),
    changed: ofState('changed'),
    doc_only: ofState('doc_only'),
    breaking: count(({ breaking }) => breaking),
    major: ofSeverity('major'),
    moderate: ofSeverity('moderate'),
    minor: ofSeverity('minor'),
  }
}
