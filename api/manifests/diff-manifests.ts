import Joi from 'joi'
import { diffManifests } from '../../jobs/rules/manifest-diff.ts'
import { listOf, shape, uuid } from '../../jobs/shape.ts'
import { endpoint } from '../endpoint.ts'
import { badRequest } from '../errors.ts'
import { errorBody, nullable } from '../fields.ts'
import { findVisibleManifest, readStoredManifest } from './find-manifest.ts'
import { changedSurfaceBody, summarizeChanges } from './manifest-fields.ts'

const counts = Joi.object()
  .pattern(Joi.string(), Joi.number().integer())
  .description('Changes by state and by severity')

export const diffManifestsOperation = endpoint('GET', '/manifests/{manifest_id}/diff', {
  area: 'manifests',
  summary: 'What a manifest changes against another one of its agent',
  access: 'key',
  params: shape({ manifest_id: uuid() }),
  query: shape({}, { against: uuid().description('Default the version before it') }),
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
    const other = await findVisibleManifest(context, principal, against)
    if (other.agent_name !== manifest.agent_name || other.project_id !== manifest.project_id) {
      throw badRequest('The manifests belong to different agents')
    }
    const [before, after] = await Promise.all([
      readStoredManifest(context, principal, other.id),
      readStoredManifest(context, principal, manifest.id),
    ])
    const changed_surfaces = diffManifests(before, after)
    const summary = summarizeChanges(changed_surfaces)
    return {
      diff: { old_manifest_id: other.id, new_manifest_id: manifest.id, changed_surfaces, summary },
    }
  },
})
