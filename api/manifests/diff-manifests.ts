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
import { changedSurfaceBody, viewChange } from './surface-change.ts'

const count = Joi.number().integer().required()

const summaryBody = Joi.object({
  breaking_surfaces: count.description('Changes that may break something'),
  non_breaking_surfaces: count,
  max_severity: nullable(Joi.string().valid('minor', 'moderate', 'major')).description(
    'Null where nothing has changed but documentation',
  ),
  total: count,
  added: count,
  removed: count,
  renamed: count,
  changed: count,
  doc_only: count,
}).label('DiffCounts')

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
          summary: summaryBody.required(),
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
    const changes = manifestDiff.diffManifests(before, after)
    return {
      diff: {
        old_manifest_id: other.id,
        new_manifest_id: manifest.id,
        changed_surfaces: changes.map(viewChange),
        summary: summarizeChanges(changes),
      },
    }
  },
})

function summarizeChanges(changes: readonly SurfaceChange[]) {
  const count = (is: (change: SurfaceChange) => boolean) => changes.filter(is).length
  const ofState = (state: SurfaceChange['state']) => count((change) => change.state === state)
  return {
    breaking_surfaces: count(({ breaking }) => breaking),
    non_breaking_surfaces: count(({ breaking }) => !breaking),
    max_severity: manifestDiff.worstSeverity(changes),
    total: changes.length,
    added: ofState('added'),
    removed: ofState('removed'),
    renamed: ofState('renamed'),
    changed: ofState('changed'),
    doc_only: ofState('doc_only'),
  }
}
