import type { Queue } from '../../jobs/queue.ts'
import { SCANNER_VERSION } from '../../jobs/rules/skills/scan/scan-skill.ts'
import { publicFrontmatter } from '../../jobs/rules/skills/skill-frontmatter.ts'
import { urlSlugs } from '../../jobs/rules/skills/url-slug.ts'
import type { Transaction } from '../core/db.ts'
import {
  findPublished,
  findSlugHolder,
  insertPublishedVersion,
  isPublicElsewhere,
  keepSlug,
  lockHandle,
  lockPublicNames,
  upsertPublished,
} from '../skills/published-skills.ts'
import type { Listing, PublishedRow } from '../skills/published-skills.ts'
import type { SkillVersionRow } from '../skills/skill-versions.ts'
import type { SkillRow } from '../skills/skills.ts'
import { tellInstallers } from './settle-safety.ts'

export interface Publication {
  readonly skill: SkillRow
  /** Its newest version, which was found safe enough. */
  readonly newest: SkillVersionRow
  /** What is left out stays as it is; the category is that of the skill unless it has none. */
  readonly listing: { readonly [member in keyof Listing]?: Listing[member] | undefined }
  readonly at: Date
}

/** The name of the skill is the slug of another one, of this id. */
export class PublicNameTaken extends Error {
  readonly slug: string
  readonly holderId: string

  constructor(slug: string, holderId: string) {
    super(`${slug} is the public name of another skill`)
    this.slug = slug
    this.holderId = holderId
  }
}

/** Another organization, whose backup the skill came with, has it or its version public under the same id. */
export class PublicElsewhere extends Error {
  constructor(name: string) {
    super(
      `${name} came with a backup of an organization that has it public: fork it, and publish the copy`,
    )
  }
}

/**
 * Makes a skill, which the transaction has locked, public in its newest version, or shows there what is
 * said of it now. Organizations that installed it are told where that version is safer or less safe than
 * the one that was shown. One that the operator withdrew stays so.
 * @returns what the registry showed before, where it was public, and what it shows now
 * @throws PublicNameTaken, PublicElsewhere
 */
export async function publishSkill(
  tx: Transaction,
  queue: Queue,
  orgId: string,
  { skill, newest, listing, at }: Publication,
): Promise<{ before: PublishedRow | undefined; published: PublishedRow }> {
  const handle = await lockHandle(tx, orgId)
  const slugs = urlSlugs({ ...skill, handle })
  await lockPublicNames(tx, [skill.name, ...slugs])
  const holderId = await findSlugHolder(tx, skill.name, skill.id)
  if (holderId !== undefined) throw new PublicNameTaken(skill.name, holderId)
  if (await isPublicElsewhere(tx, orgId, newest)) throw new PublicElsewhere(skill.name)
  await keepSlug(tx, orgId, skill, slugs)
  const before = await findPublished(tx, orgId, skill.id)
  const published = await upsertPublished(tx, orgId, newest, {
    category: listing.category ?? skill.category ?? before?.category ?? null,
    tags: listing.tags ?? before?.tags ?? [],
    author_display_name: listing.author_display_name ?? before?.author_display_name ?? null,
  })
  await insertPublishedVersion(tx, orgId, newest, publicFrontmatter(skill.frontmatter))
  if (before && before.band !== newest.band) {
    const change = {
      skill_id: skill.id,
      skill_name: skill.name,
      version_id: newest.id,
      version: newest.version_number,
      previous_band: before.band,
      band: newest.band,
      reason_codes: newest.reason_codes,
      scanner_version: SCANNER_VERSION,
      is_held: published.held_at !== null,
      changed_at: at,
    }
    await tellInstallers(tx, queue, orgId, change, null)
  }
  return { before, published }
}
