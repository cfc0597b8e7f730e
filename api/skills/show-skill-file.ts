import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import { FOLDER_NAME } from '../../jobs/rules/skills/install-name.ts'
import { VARIANTS } from '../../jobs/rules/skills/render-skill.ts'
import type { Variant } from '../../jobs/rules/skills/render-skill.ts'
import { isWithheld } from '../../jobs/rules/skills/resolution.ts'
import { chooseSkill } from '../../jobs/rules/skills/skill-lookup.ts'
import { oneOf, shape, text, textReference, uuidReference } from '../../jobs/shape.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { findCandidates } from '../../sql/skills/candidates.ts'
import type { SkillReader } from '../../sql/skills/candidates.ts'
import {
  findResolvedVersions,
  readResolvedBodies,
  readResolvedFile,
} from '../../sql/skills/resolved-versions.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { matchesTag } from '../entity-tag.ts'
import { notFound } from '../errors.ts'
import { errorBody, fileOf, noBody } from '../fields.ts'
import { headerOf } from '../header.ts'
import type { Principal } from '../principal.ts'
import { readableProjects } from '../projects.ts'
import { hashField } from './members.ts'
import type { Found } from './resolution.ts'
import { renderFound, variantOf } from './resolved-item.ts'
import { versionReference, wantedVersion } from './version.ts'

export const showSkillFile = endpoint('GET', '/registry/skills/{skill_id}/files/{path*}', {
  summary: 'Download a file of a skill',
  description:
    'The files of public skills are for everybody, those of its own skills for an organization. SKILL.md is rendered for the folder and the variant asked for. A file that does not have the `hash` asked for is not found.',
  access: 'public',
  params: shape({ skill_id: uuidReference(), path: textReference() }),
  query: shape(
    {},
    {
      version: versionReference,
      hash: hashField.description('SHA-256 that the file must have'),
      install_name: text(255)
        .pattern(FOLDER_NAME, 'a safe name of a folder')
        .description('The name in SKILL.md; without it the skill’s own'),
      variant: oneOf(...VARIANTS).description('Without it own for the owner, foreign for others'),
    },
  ),
  answers: {
    200: fileOf('text/plain', 'application/octet-stream'),
    304: noBody,
    404: errorBody,
  },
  async handle({ context: { sql }, principal, params, query, request }) {
    const reader = await readerOf(sql, principal)
    const found = await findVersion(sql, reader, params.skill_id, query.version)
    const content = found && (await readContent(sql, reader, found, params.path, query))
    if (!content) throw notFound('File')
    const sha256 = createHash('sha256').update(content).digest('hex')
    if (query.hash !== undefined && query.hash !== sha256) throw notFound('File')
    const headers = {
      ETag: `"${sha256}"`,
      'Content-Type': isUtf8(content) ? 'text/plain; charset=utf-8' : 'application/octet-stream',
      'Content-Disposition': 'attachment',
      'X-Content-Type-Options': 'nosniff',
    }
    if (matchesTag(headerOf(request, 'if-none-match'), headers.ETag)) {
      return new Answer(304, null, headers)
    }
    // The tag describes the bytes as they are, so hapi must not compress them.
    request.info.acceptEncoding = 'identity'
    return new Answer(200, content, headers)
  },
})

/** Undefined for a skill, or a version of it, that the caller is not served. */
async function findVersion(
  sql: Queryable,
  reader: SkillReader | null,
  id: string,
  version: string | undefined,
): Promise<Found | undefined> {
  const { chosen: skill } = chooseSkill([await findCandidates(sql, reader, [{ id }])])
  if (!skill) return undefined
  const wanted = wantedVersion(skill, version)
  const [row] = wanted ? await findResolvedVersions(sql, reader, [wanted]) : []
  const { scope } = skill
  if (!row || isWithheld({ scope, band: row.band, isHeld: row.is_held })) return undefined
  return { ref: id, skill, version: row }
}

async function readContent(
  sql: Queryable,
  reader: SkillReader | null,
  found: Found,
  path: string,
  asked: { install_name?: string | undefined; variant?: Variant | undefined },
) {
  const { version_id: id } = found.version
  if (path !== 'SKILL.md') return readResolvedFile(sql, reader, id, path)
  const variant = asked.variant ?? variantOf(found)
  if (variant === 'own' && variantOf(found) !== 'own') return undefined
  const body = (await readResolvedBodies(sql, reader, [id])).get(id)
  const name = asked.install_name ?? found.skill.name
  return body === undefined ? undefined : Buffer.from(renderFound(found, name, variant, body))
}

async function readerOf(sql: Queryable, principal: Principal | undefined) {
  if (!principal) return null
  const projectIds = await readableProjects(sql, principal, undefined)
  return { orgId: principal.orgId, projectIds }
}
