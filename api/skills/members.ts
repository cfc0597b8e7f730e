import { isDeepStrictEqual } from 'node:util'
import Joi from 'joi'
import { faultOfFrontmatter, isForUsersOnly } from '../../jobs/rules/skills/skill-frontmatter.ts'
import type { Frontmatter } from '../../jobs/rules/skills/skill-frontmatter.ts'
import {
  describeBody,
  faultOfBody,
  INVOCATIONS,
  isSkillName,
  MAX_BODY_BYTES,
  MAX_DESCRIPTION,
  STABILITIES,
  trimBody,
} from '../../jobs/rules/skills/skill.ts'
import { bareHash } from '../../jobs/rules/traces/trace.ts'
import { freeForm, listOf, oneOf, text } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { SkillDetails, SkillRow } from '../../sql/skills/skills.ts'

/** What requests say of a skill, and how it is checked. */

export const nameField = Joi.string()
  .custom(checkName)
  .description('Lower-case letters, digits and single inner hyphens')

/** The value is without outer white space, as it is stored. */
export const bodyField = text(MAX_BODY_BYTES)
  .allow('')
  .custom(checkBody)
  .description('Text of SKILL.md after its frontmatter, at most 256 KiB')

/** The value is 64 digits in lower case. */
export const hashField = Joi.string()
  .min(64)
  .max(71)
  .pattern(/^(sha256:)?[0-9a-fA-F]{64}$/, '64 hex digits')
  .custom(bareHash)
  .description('SHA-256 in hex, with `sha256:` in front or without')

const descriptionField = text(MAX_DESCRIPTION)
  .trim()
  .empty([null, ''])
  .description('Default the first line of the body that is no heading')

/**
 * What is said of a skill beside its name and body. Null takes a text away, but leaves the description and
 * the evaluation as they are.
 */
export const detailFields = {
  display_name: text().allow(null).empty(''),
  description: descriptionField,
  category: text(64).allow(null).empty(''),
  stability: oneOf(...STABILITIES),
  invocation: oneOf(...INVOCATIONS).description(
    'Who may start it; default user where frontmatter has disable-model-invocation: true, else any',
  ),
  trigger_phrases: listOf(text(200)).max(100),
  frontmatter: freeForm()
    .custom(checkFrontmatter)
    .description('At most 16 KiB; its name and description are ignored'),
  eval_yaml_text: text(64 * 1024)
    .empty([null, ''])
    .description('How it is to be evaluated; null leaves what is stored'),
}

/** What is said of a version that the request makes. */
export const versionFields = {
  change_summary: text(1000).empty([null, '']),
  author: text().empty([null, '']).description('Default the label of the key'),
}

/**
 * The details that a skill has from now on: those given, else those of `before`. A frontmatter that tells
 * who may start the skill is heard where nothing else does.
 */
export function detailsOf(said: Details, before: SkillDetails): SkillDetails {
  const {
    display_name = before.display_name,
    description = before.description,
    category = before.category,
    stability = before.stability,
    frontmatter = before.frontmatter,
    invocation = invocationOf(frontmatter, before),
    trigger_phrases = before.trigger_phrases,
  } = said
  const texts = { display_name, description, category }
  return { ...texts, stability, invocation, trigger_phrases, frontmatter }
}

/** The details that change by what is said, to be written; undefined where none does. */
export function changeOfDetails(said: Details, skill: SkillRow) {
  const details = detailsOf(said, skill)
  const { eval_yaml_text: eval_yaml = null } = said
  if (eval_yaml === null && isDeepStrictEqual(details, detailsOf({}, skill))) return undefined
  return { id: skill.id, ...details, eval_yaml }
}

/** The details of a new skill of which nothing is said. */
export function defaultDetails(name: string, body: string): SkillDetails {
  return {
    display_name: null,
    description: describeBody(body, name),
    category: null,
    stability: 'stable',
    invocation: 'any',
    trigger_phrases: [],
    frontmatter: {},
  }
}

/** Of a skill that gets this frontmatter: changed only where the two frontmatters tell different things. */
function invocationOf(frontmatter: Frontmatter, before: SkillDetails) {
  const isForUsers = isForUsersOnly(frontmatter)
  if (isForUsers === isForUsersOnly(before.frontmatter)) return before.invocation
  return isForUsers ? 'user' : 'any'
}

function checkName(name: string, { message }: Joi.CustomHelpers) {
  return isSkillName(name) ? name : message({ custom: `{#label} ${NAME_RULE}` })
}

function checkBody(markdown: string, { message }: Joi.CustomHelpers) {
  const body = trimBody(markdown)
  const fault = faultOfBody(body)
  return fault === undefined ? body : message({ custom: `{#label} ${BODY_RULES[fault]}` })
}

function checkFrontmatter(value: object, { message }: Joi.CustomHelpers) {
  const { name: _, description: __, ...rest } = value as Record<string, unknown>
  const fault = faultOfFrontmatter(rest)
  return fault === undefined ? rest : message({ custom: `{#label} ${fault}` })
}

export const NAME_RULE =
  'must be lower-case letters, digits and single inner hyphens, at most 64, and not look like an id'

/** What is wrong with a body, by the fault that `faultOfBody` finds. */
export const BODY_RULES = {
  frontmatter_in_body: 'must not begin with frontmatter, which is a member of its own',
  too_large: `must be at most ${MAX_BODY_BYTES} bytes`,
} as const

type Details = Partial<{
  [member in keyof typeof detailFields]: Valid<(typeof detailFields)[member]> | undefined
}>
