import Joi from 'joi'
import { disambiguate } from '../../jobs/rules/skills/install-name.ts'
import { hashText, renderSkill, VARIANTS } from '../../jobs/rules/skills/render-skill.ts'
import type { Variant } from '../../jobs/rules/skills/render-skill.ts'
import {
  isWithheld,
  ITEM_ERRORS,
  relationshipOf,
  RELATIONSHIPS,
} from '../../jobs/rules/skills/resolution.ts'
import { orderBytes } from '../../jobs/rules/core/order.ts'
import { BANDS, INVOCATIONS } from '../../jobs/rules/skills/skill.ts'
import { listOf, oneOf } from '../../jobs/shape.ts'
import { nullable } from '../fields.ts'
import type { Failed, Found, Resolved } from './resolution.ts'

const id = nullable(Joi.string().guid())
const words = nullable(Joi.string())
const hash = nullable(Joi.string()).description('SHA-256 in hex')

const resolvedItem = Joi.object({
  ok: Joi.boolean().required(),
  ref: Joi.string().required().description('As sent: the ref, else the skill_id'),
  error: nullable(
    Joi.object({
      code: Joi.string()
        .valid(...ITEM_ERRORS)
        .required(),
      message: Joi.string().required(),
    }).label('ResolveError'),
  ),
  skill_id: id.required(),
  org_id: id.required().description('Null without a key'),
  registry_name: words.required().description('owner/name'),
  url_slug: words.required(),
  install_name: words
    .required()
    .description('The folder to install in, and the name in the rendered SKILL.md'),
  install_name_base: words.required().description('The skill’s name'),
  install_name_disambiguated: words.required().description('Does not depend on `taken`'),
  version_id: id.required(),
  version: nullable(Joi.number().integer()),
  latest: nullable(
    Joi.object({
      version_id: Joi.string().guid().required(),
      version: Joi.number().integer().required(),
    }).label('LatestResolved'),
  ).description('The newest version that the caller may have'),
  render: nullable(
    Joi.object({
      format: Joi.number().integer().required(),
      hash: Joi.string().required().description('SHA-256 of the rendered SKILL.md, in hex'),
      variant: oneOf(...VARIANTS).required(),
    }).label('SkillRender'),
  ),
  body_sha256: hash.required(),
  description_sha256: hash.required(),
  invocation: nullable(oneOf(...INVOCATIONS)),
  relationship: nullable(oneOf(...RELATIONSHIPS)),
  files: listOf(
    Joi.object({
      path: Joi.string().required(),
      sha256: Joi.string().required(),
      mode: oneOf('0644', '0755').required(),
    }).label('ResolvedFile'),
  )
    .required()
    .description('SKILL.md and all others, by path'),
  unavailable: listOf(
    Joi.object({ path: Joi.string().required(), reason: oneOf('withheld').required() }).label(
      'UnavailableFile',
    ),
  ).required(),
  policy_notes: listOf(Joi.string()).required(),
  safety: nullable(
    Joi.object({
      band: oneOf(...BANDS).required(),
      withheld: Joi.boolean().required(),
    }).label('ResolvedSafety'),
  ),
}).label('ResolvedSkill')

export const resolvedBody = Joi.object({ items: listOf(resolvedItem).required() }).label(
  'ResolvedSkills',
)

/** SKILL.md of a version, for the folder of a name. */
export function renderFound(
  { skill, version }: Found,
  installName: string,
  variant: Variant,
  body: string,
) {
  return renderSkill(
    {
      installName,
      skillId: skill.skill_id,
      registryName: skill.registry_name,
      owner: skill.owner,
      version: version.version_number,
      description: version.description,
      invocation: version.invocation,
      frontmatter: version.frontmatter,
      body,
    },
    variant,
  )
}

/** The variant that the caller is given. */
export function variantOf({ skill }: Found): Variant {
  return skill.scope === 'own' ? 'own' : 'foreign'
}

export function viewResolved(item: Resolved, format: number, isAnonymous: boolean) {
  const { ref, skill, version, installName, body, notes } = item
  const variant = variantOf(item)
  const hash = hashText(renderFound(item, installName, variant, body))
  const skillFile = { path: 'SKILL.md', sha256: hash, mode: '0644' }
  return {
    ...NOTHING,
    ok: true,
    ref,
    ...identify(item, isAnonymous),
    install_name: installName,
    render: { format, hash, variant },
    body_sha256: version.body_sha256.toString('hex'),
    description_sha256: hashText(version.description),
    invocation: version.invocation,
    relationship: relationshipOf(skill),
    files: [...version.files, skillFile].toSorted((a, b) => orderBytes(a.path, b.path)),
    policy_notes: notes,
  }
}

/** Only callers with a key are told that something is withheld. */
export function viewFailed({ ref, error, withheld }: Failed) {
  return {
    ...NOTHING,
    ref,
    error,
    ...(withheld && {
      ...identify(withheld, false),
      unavailable: [{ path: 'SKILL.md', reason: 'withheld' }],
    }),
  }
}

function identify({ skill, version }: Found, isAnonymous: boolean) {
  const { scope } = skill
  const { band, is_held: isHeld } = version
  return {
    skill_id: skill.skill_id,
    org_id: isAnonymous ? null : skill.org_id,
    registry_name: skill.registry_name,
    url_slug: skill.url_slug,
    install_name_base: skill.name,
    install_name_disambiguated: disambiguate(skill),
    version_id: version.version_id,
    version: version.version_number,
    latest: { version_id: version.latest_id, version: version.latest_number },
    safety: { band, withheld: isWithheld({ scope, band, isHeld }) },
  }
}

/** The members of an item of which nothing is known, in the order of the documentation. */
const NOTHING = {
  ok: false,
  ref: '',
  error: null,
  skill_id: null,
  org_id: null,
  registry_name: null,
  url_slug: null,
  install_name: null,
  install_name_base: null,
  install_name_disambiguated: null,
  version_id: null,
  version: null,
  latest: null,
  render: null,
  body_sha256: null,
  description_sha256: null,
  invocation: null,
  relationship: null,
  files: [],
  unavailable: [],
  policy_notes: [],
  safety: null,
}
