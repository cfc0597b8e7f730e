import Joi from 'joi'
import { scanListing } from '../../jobs/rules/skills/scan/scan-skill.ts'
import { badgeOf, BADGES } from '../../jobs/rules/skills/skill-badge.ts'
import { BANDS, describeBody } from '../../jobs/rules/skills/skill.ts'
import { listOf } from '../../jobs/shape.ts'
import type { Queryable, Transaction } from '../../sql/core/db.ts'
import type { PublishedRow } from '../../sql/skills/published-skills.ts'
import { findVersion, readBodies } from '../../sql/skills/skill-versions.ts'
import type { SkillVersionRow } from '../../sql/skills/skill-versions.ts'
import type { SkillRow } from '../../sql/skills/skills.ts'
import {
  PublicElsewhere,
  PublicNameTaken,
  publishSkill as publish,
} from '../../sql/transactions/publish-skill.ts'
import type { Publication } from '../../sql/transactions/publish-skill.ts'
import { audit } from '../audit.ts'
import { Answer, endpoint } from '../endpoint.ts'
import { ApiError, conflict, conflictWith } from '../errors.ts'
import { conflictBody, errorBody, nullable, waitHeaders } from '../fields.ts'
import { waitForJob } from '../wait.ts'
import { listingBody, listingQuery } from './listing.ts'
import { submitScan } from './scan.ts'
import { findVisibleSkill, lockVisibleSkill, newestVersion, skillPath } from './skill.ts'

const publishedBody = Joi.object({
  status: Joi.string().valid('ok').required(),
  skill_id: Joi.string().guid().required(),
  url_slug: Joi.string().required().description('Its public name, which it keeps for ever'),
  registry_name: Joi.string().required().description('handle/name'),
  category: nullable(Joi.string()),
  tags: listOf(Joi.string()).required(),
  author_display_name: nullable(Joi.string()),
  skill_badge: Joi.string()
    .valid(...BADGES)
    .required()
    .description('What the evidence of its quality comes to'),
  version: Joi.number().integer().required(),
  version_id: Joi.string().guid().required(),
  safety_band: Joi.string()
    .valid(...BANDS)
    .required(),
  withheld: Joi.boolean().required().description('The operator withdrew it: nobody is served it'),
}).label('PublishedSkill')

const refusedBody = errorBody
  .append({ reason_codes: listOf(Joi.string()).description('Of a blocked version') })
  .label('PublishRefusal')

export const publishSkill = endpoint('POST', '/skills/{skill_name}/publish', {
  summary: 'Make the newest version of a skill public, with its files',
  description:
    'Everybody can install it then. 201 for the first time, else 200. What a public version holds never changes, and nothing private is shown: of the frontmatter only the keys of the Agent Skills format. The description in SKILL.md is that with which the version was published; the registry lists the skill as its last publishing says. Tags and author that are left out stay as they are. A version that was not scanned yet is scanned first, which is waited for as for long work. 409 says why it cannot be published: `unreviewed` while no scan has ended, `blocked` with `reason_codes`, `missing_description` where nobody described the skill, `conflict` where its name is the public name of another one.',
  access: 'global-admin',
  attaches: true,
  params: skillPath,
  query: listingQuery,
  body: listingBody
    .label('PublishRequest')
    .example({ category: 'commerce', tags: ['orders', 'support'] }),
  headers: waitHeaders,
  answers: {
    200: publishedBody,
    201: publishedBody,
    404: errorBody,
    409: Joi.alternatives(conflictBody, refusedBody),
  },
  async handle(call) {
    const { context, principal, params, query, body } = call
    const { sql, queue, now } = context
    const { orgId } = principal
    const { id } = await findVisibleSkill(sql, principal, params.skill_name)
    const found = await newestVersion(sql, orgId, id)
    if (found.band === 'unreviewed') {
      await waitForJob(call, await submitScan(context, principal, found))
    }
    const { before, published } = await queue.transaction(sql, async (tx: Transaction) => {
      const skill = await lockVisibleSkill(tx, principal, id)
      const newest = await newestVersion(tx, orgId, id)
      const listing = { ...query, ...body }
      requireSafe(newest, 'the newest version; POST checks/run says what it found')
      requireSafe(scanListing(saidOf(skill, listing)), 'what is said of the skill in the registry')
      await requireDescribed(tx, orgId, skill, newest)
      const publication = { skill, newest, listing, at: now() }
      const shown = await publish(tx, queue, orgId, publication).catch(asConflict)
      if (shown.before?.current_version_id !== newest.id) {
        const told = { name: skill.name, version: newest.version_number }
        await audit(tx, principal, 'skill.published', id, told)
      }
      return shown
    })
    const view = viewPublished(id, published)
    if (before) return view
    return new Answer(201, view, { Location: `/api/v1/registry/skills/${published.url_slug}` })
  },
})

/** @throws ApiError 409 */
function requireSafe({ band, reason_codes }: Safety, what: string) {
  if (band === 'unreviewed') {
    const detail = 'The newest version was not scanned yet; publish it again in a moment'
    throw new ApiError(409, 'unreviewed', detail, { headers: { 'Retry-After': '5' } })
  }
  if (band === 'blocked') {
    const members = { reason_codes }
    throw new ApiError(409, 'blocked', `The safety scan blocks ${what}`, { members })
  }
}

/** What is shown of a skill beside its versions. */
function saidOf({ display_name, category }: SkillRow, listing: Publication['listing']) {
  const { tags = [], author_display_name, category: given } = listing
  return [display_name, category, given, author_display_name, ...tags].filter(Boolean).join('\n')
}

/** What is only taken from a body does not tell others when to use the skill. */
async function requireDescribed(
  sql: Queryable,
  orgId: string,
  { id, name, description }: SkillRow,
  newest: SkillVersionRow,
) {
  const first = await findVersion(sql, orgId, id, { number: 1 })
  const bodies = await readBodies(sql, orgId, [newest.id, first?.id ?? newest.id])
  if (![...bodies.values()].some((body) => describeBody(body, name) === description)) return
  const detail = 'Nobody described the skill: say what it does and when to use it'
  throw new ApiError(409, 'missing_description', detail)
}

function asConflict(error: unknown): never {
  if (error instanceof PublicElsewhere) throw conflict(error.message)
  if (!(error instanceof PublicNameTaken)) throw error
  const { message, holderId, slug } = error
  throw conflictWith(message, { type: 'skill', id: holderId, name: slug })
}

function viewPublished(skillId: string, published: PublishedRow) {
  const { current_version, current_version_id, band, tier, held_at, ...named } = published
  return {
    status: 'ok',
    skill_id: skillId,
    ...named,
    skill_badge: badgeOf(tier),
    version: current_version,
    version_id: current_version_id,
    safety_band: band,
    withheld: held_at !== null,
  }
}

type Safety = Pick<SkillVersionRow, 'band' | 'reason_codes'>
