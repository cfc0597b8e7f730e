import Joi from 'joi'
import { oneOf, shape } from '../../jobs/shape.ts'
import type { Queue } from '../../jobs/queue.ts'
import type { Transaction } from '../../sql/core/db.ts'
import {
  findPublicSkill,
  hasFilesOf,
  lockPublicVersion,
  takeFilesOf,
} from '../../sql/skills/public-skills.ts'
import type { PublicSkillRow } from '../../sql/skills/public-skills.ts'
import { isNewer } from '../../sql/skills/registry-marks.ts'
import { nextVersion, readBodies } from '../../sql/skills/skill-versions.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import { markUpstream } from '../../sql/skills/skills.ts'
import type { SkillRow } from '../../sql/skills/skills.ts'
import { addSkillVersions } from '../../sql/transactions/add-skill-versions.ts'
import { endpoint } from '../endpoint.ts'
import { ApiError, badRequest } from '../errors.ts'
import { errorBody, nullable } from '../fields.ts'
import type { Principal } from '../principal.ts'
import { lockVisibleSkill, newestVersion, requireNext, skillPath } from './skill.ts'

const members = {
  strategy: oneOf('theirs', 'ours').description(
    'theirs, the default: the public version becomes the newest one, with its files. ours: nothing changes, and the public version is told no more',
  ),
  mode: oneOf('preview', 'replace').description(
    'preview: nothing changes, both bodies are told. replace: as the strategy theirs',
  ),
}

const mergedBody = Joi.object({
  status: Joi.string().valid('ok', 'up_to_date').required(),
  version_id: Joi.string().guid().required().description('The newest version from now on'),
  version_number: Joi.number().integer().required(),
  overwrote_local_changes: Joi.boolean().required(),
  previous_version_id: nullable(Joi.string().guid()).description(
    'What was the newest version; null where no version was made',
  ),
}).label('UpstreamMerge')

const previewBody = Joi.object({
  upstream_body: Joi.string().allow('').required(),
  upstream_version_number: Joi.number().integer().required(),
  upstream_change_summary: nullable(Joi.string()),
  current_body: Joi.string().allow('').required(),
}).label('UpstreamPreview')

export const mergeUpstream = endpoint('POST', '/skills/{skill_name}/merge-upstream', {
  summary: 'Take over the newest public version of the skill that this one is a copy of',
  description:
    'The version that was the newest stays as the one before. A merge line by line is not offered.',
  access: 'key',
  params: skillPath,
  query: shape({}, members),
  body: shape({}, members).label('UpstreamMergeRequest').example({ strategy: 'theirs' }),
  answers: {
    200: Joi.alternatives(mergedBody, previewBody).label('UpstreamMergeAnswer'),
    400: errorBody,
    404: errorBody,
    409: errorBody,
  },
  async handle({ context, principal, params, query, body }) {
    const { orgId } = principal
    const { strategy, mode } = { ...query, ...body }
    if (strategy && mode) throw badRequest('Give either a strategy or a mode')
    return context.queue.transaction(context.sql, async (tx: Transaction) => {
      const skill = await lockVisibleSkill(tx, principal, params.skill_name)
      if (skill.forked_from_skill_id === null) throw notFork()
      const upstream = await findPublicSkill(tx, skill.forked_from_skill_id)
      if (!upstream || !(await lockPublicVersion(tx, upstream.version_id))) throw unavailable()
      const newest = await newestVersion(tx, orgId, skill.id)
      if (mode === 'preview') return preview(tx, orgId, newest, upstream)
      const isTaken = !(await isNewer(tx, orgId, skill.id, upstream.version_number))
      const isSeen = upstream.version_id === skill.upstream_seen_version_id
      if (isTaken || (strategy === 'ours' && isSeen)) {
        return { ...viewUnmerged(newest), status: 'up_to_date' }
      }
      if (strategy === 'ours') {
        await markUpstream(tx, orgId, skill.id, { upstream_seen_version_id: upstream.version_id })
        return viewUnmerged(newest)
      }
      return takeOver(tx, context.queue, principal, { skill, newest, upstream })
    })
  },
})

async function preview(
  tx: Transaction,
  orgId: string,
  { id }: SkillVersionRow,
  { body, version_number, change_summary }: PublicSkillRow,
) {
  const bodies = await readBodies(tx, orgId, [id])
  return {
    upstream_body: body,
    upstream_version_number: version_number,
    upstream_change_summary: change_summary,
    current_body: bodies.get(id),
  }
}

/** Makes the public version the newest one, unless it has its text and files already. */
async function takeOver(
  tx: Transaction,
  queue: Queue,
  { orgId, keyLabel: author }: Principal,
  { skill, newest, upstream }: Merge,
) {
  const { body, body_sha256, change_summary, version_id } = upstream
  await markUpstream(tx, orgId, skill.id, { forked_at_version_id: version_id })
  const isSame =
    body_sha256.equals(newest.body_sha256) && (await hasFilesOf(tx, orgId, newest.id, version_id))
  if (isSame) return viewUnmerged(newest)
  const isCopy = newest.origin === 'fork' || newest.origin === 'upstream'
  const copied = skill.forked_at_version_id
  const isUntouched = isCopy && copied !== null && (await hasFilesOf(tx, orgId, newest.id, copied))
  requireNext(newest)
  const made = { body, origin: 'upstream', author, change_summary } as const
  const version = nextVersion(skill.id, newest, made)
  await addSkillVersions(tx, queue, orgId, [version])
  await takeFilesOf(tx, orgId, version.id, upstream)
  return {
    status: 'ok',
    version_id: version.id,
    version_number: version.version_number,
    overwrote_local_changes: !isUntouched,
    previous_version_id: newest.id,
  }
}

/** Where no version was made. */
function viewUnmerged({ id, version_number }: SkillVersionRow) {
  return {
    status: 'ok',
    version_id: id,
    version_number,
    overwrote_local_changes: false,
    previous_version_id: null,
  }
}

function notFork() {
  return new ApiError(400, 'not_a_fork', 'The skill is not a copy of another one')
}

function unavailable() {
  return new ApiError(
    409,
    'upstream_unavailable',
    'The skill that this one is a copy of is not public at the moment',
  )
}

interface Merge {
  readonly skill: SkillRow
  /** Its newest version. */
  readonly newest: SkillVersionRow
  readonly upstream: PublicSkillRow
}
