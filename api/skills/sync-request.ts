import Joi from 'joi'
import { cut } from '../../jobs/rules/core/reader.ts'
import { CONFLICT_POLICIES } from '../../jobs/rules/skills/plan-sync.ts'
import type { SyncItem } from '../../jobs/rules/skills/plan-sync.ts'
import { hashBody, trimBody } from '../../jobs/rules/skills/skill.ts'
import { bareHash } from '../../jobs/rules/traces/trace.ts'
import { listOf, oneOf, shape, text, time } from '../../jobs/shape.ts'
import type { Valid } from '../../jobs/shape.ts'
import type { CheckedBody } from '../endpoint.ts'
import { ALL_FAULTS, faultsOf } from '../errors.ts'
import { MAX_BODY_BYTES } from '../read-body.ts'
import { detailFields } from './members.ts'

/** Skills that one request can name. */
export const MAX_ITEMS = 500

const { description, frontmatter, eval_yaml_text } = detailFields

/** An item. What is wrong with its name or body is found by `planSync`. */
const itemShape = shape(
  {
    name: text(),
    body_markdown: text(MAX_BODY_BYTES)
      .allow('')
      .description('Text of SKILL.md after its frontmatter, at most 256 KiB'),
  },
  {
    description,
    // Clients send null for what they know nothing of.
    category: text(64).empty([null, '']),
    frontmatter,
    eval_yaml_text,
    content_hash: text()
      .empty([null, ''])
      .custom(bareHash)
      .description(
        'SHA-256 of the body without outer white space; the item is refused if it is not',
      ),
    local_updated_at: time()
      .empty([null, ''])
      .description('When it was last changed; newer_wins needs it'),
  },
).label('SyncedSkill')

export const installLabelField = text().empty([null, '']).description('Taken, and not kept')

const members = {
  conflict_policy: oneOf(...CONFLICT_POLICIES)
    .default('local_wins')
    .description(
      'Where the stored newest body is another one: local_wins makes a version of the one sent; newer_wins does where local_updated_at is later; remote_wins keeps the stored one. fail only makes skills: a name that is there is 409, and nothing is written',
    ),
  response_mode: oneOf('summary', 'diff')
    .default('summary')
    .description('diff tells the bodies that were kept, 5 MiB in all'),
  author: text().empty([null, '']).description('Of the versions; default the label of the key'),
  install_id: text().empty([null, '']).description('Of the installation that sends this'),
  install_label: installLabelField,
}
const documented = shape({ skills: listOf(itemShape).max(MAX_ITEMS) }, members)
  .label('SkillSyncRequest')
  .example({ skills: [{ name: 'order-lookup', body_markdown: 'Ask for the number first.' }] })
const outer = shape({ skills: listOf(Joi.any()).max(MAX_ITEMS) }, members)

/** A body whose items are checked one by one: an item that is wrong leaves the others. */
export const syncBody: CheckedBody<SyncRequest> = {
  documented,
  maxBytes: MAX_BODY_BYTES,
  read(value) {
    const { error, value: request } = outer.validate(value, ALL_FAULTS)
    if (error) return { faults: faultsOf('body', error) }
    return { value: { ...request, skills: request.skills.map(readItem) } }
  },
}

function readItem(value: unknown): ReadItem {
  const { error, value: sent } = itemShape.validate(value, ALL_FAULTS)
  if (error) {
    const message = faultsOf('', error)
      .slice(0, MAX_FAULTS_TOLD)
      .map((fault) => `${fault.field.slice(1)} ${fault.message}`.trim())
      .join('; ')
    return { name: nameIn(value), message: cut(message, MAX_MESSAGE) }
  }
  const body = trimBody(sent.body_markdown)
  return {
    ...sent,
    body,
    sha256: hashBody(body),
    claimedHash: sent.content_hash,
    changedAt: sent.local_updated_at,
  }
}

/** What an item that cannot be read calls itself. */
function nameIn(value: unknown) {
  const name = typeof value === 'object' && value !== null && 'name' in value ? value.name : null
  return typeof name === 'string' ? cut(name, MAX_MESSAGE) : null
}

const MAX_FAULTS_TOLD = 5
const MAX_MESSAGE = 256

type Sent = Valid<typeof itemShape>
/** An item to be synced, with what else is said of the skill. */
export type SentSkill = SyncItem & Omit<Sent, 'body_markdown'>
/** An item that is not of the shape of one. */
export interface UnreadItem {
  readonly name: string | null
  readonly message: string
}
export type ReadItem = SentSkill | UnreadItem
export type SyncRequest = Omit<Valid<typeof outer>, 'skills'> & {
  readonly skills: readonly ReadItem[]
}
