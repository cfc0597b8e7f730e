import Joi from 'joi'
import { SYNC_FAULTS } from '../../jobs/rules/skills/plan-sync.ts'
import type { SyncFault, SyncStep } from '../../jobs/rules/skills/plan-sync.ts'
import { MAX_SKILLS, MAX_VERSIONS } from '../../jobs/rules/skills/skill.ts'
import { listOf } from '../../jobs/shape.ts'
import type { Queryable, Transaction } from '../../sql/core/db.ts'
import { findRegistryMarks } from '../../sql/skills/registry-marks.ts'
import { readFirstBodies } from '../../sql/skills/skill-versions.ts'
import { endpoint } from '../endpoint.ts'
import { conflictBody, nullable } from '../fields.ts'
import { applySync } from './apply-sync.ts'
import type { SyncOutcome } from './apply-sync.ts'
import { BODY_RULES, NAME_RULE } from './members.ts'
import { syncBody } from './sync-request.ts'
import type { SentSkill, UnreadItem } from './sync-request.ts'

const counted = Joi.number().integer().required()

const actionBody = Joi.object({
  action: Joi.string()
    .valid('created', 'pushed', 'pulled', 'no_change', 'failed')
    .required()
    .description('pushed: the body sent is a new version; pulled: the stored one stays'),
  name: nullable(Joi.string()),
  version_number: nullable(Joi.number().integer()).description(
    'The newest from now on; null where it failed',
  ),
  new_version_number: nullable(Joi.number().integer()).description('Of the version that was made'),
  body_markdown: nullable(Joi.string().allow('')).description(
    'The stored body of what is pulled, in mode diff; null beyond 5 MiB in all',
  ),
  url_slug: nullable(Joi.string()),
  error: nullable(Joi.string()),
}).label('SyncAction')

const answerBody = Joi.object({
  status: Joi.string().valid('ok').required(),
  created: counted,
  updated: counted.description('pushed'),
  unchanged: counted.description('no_change'),
  pulled: counted,
  failures: listOf(
    Joi.object({
      name: nullable(Joi.string()),
      code: Joi.string()
        .valid('invalid_item', ...SYNC_FAULTS)
        .required(),
      message: Joi.string().required(),
    }).label('SyncFailure'),
  ).required(),
  actions: listOf(actionBody).required().description('One for each skill that was sent, in order'),
}).label('SyncResult')

export const syncSkills = endpoint('POST', '/skills/sync', {
  summary: 'Store the skills that a client has, and tell it of those it has not',
  description:
    'All is written, or nothing; but an item that is wrong is left out and told in `failures`. Repeated, it changes nothing: a body equal to the newest one is counted as unchanged. One equal to an older version makes a version.',
  access: 'key',
  body: syncBody,
  answers: { 200: answerBody, 409: conflictBody },
  async handle({ context, principal, body }) {
    const { skills, ...request } = body
    const items = skills.flatMap((item) => ('message' in item ? [] : [item]))
    const outcomes = await context.queue.transaction(context.sql, (tx: Transaction) =>
      applySync(tx, context.queue, principal, { ...request, items }),
    )
    const shown = await readShown(context.sql, principal.orgId, outcomes, body.response_mode)
    const outcomeOf = new Map(outcomes.map((outcome) => [outcome.item, outcome]))
    const told = skills.map((item) => {
      const outcome = 'message' in item ? undefined : outcomeOf.get(item)
      return { item, outcome, failure: failureOf(item, outcome?.step) }
    })
    const count = (action: string) => outcomes.filter(({ step }) => step.action === action).length
    return {
      status: 'ok',
      created: count('created'),
      updated: count('pushed'),
      unchanged: count('no_change'),
      pulled: count('pulled'),
      failures: told.flatMap(({ failure }) => failure ?? []),
      actions: told.map(({ item: { name }, outcome, failure }) => ({
        action: outcome?.step.action ?? 'failed',
        name,
        version_number: outcome?.newest?.version_number ?? null,
        new_version_number: outcome?.version?.version_number ?? null,
        body_markdown: shown.bodies.get(outcome?.newest?.id ?? '') ?? null,
        url_slug: shown.marks.get(outcome?.row?.id ?? '')?.url_slug ?? null,
        error: failure?.message ?? null,
      })),
    }
  },
})

/** The public names of the stored skills, and the bodies that the mode shows. */
async function readShown(
  sql: Queryable,
  orgId: string,
  outcomes: readonly SyncOutcome[],
  mode: 'summary' | 'diff',
) {
  const pulled = outcomes.flatMap(({ step, newest }) =>
    mode === 'diff' && step.action === 'pulled' && newest ? [newest.id] : [],
  )
  const ids = outcomes.flatMap(({ row }) => (row ? [row.id] : []))
  const [bodies, marks] = await Promise.all([
    readFirstBodies(sql, orgId, pulled, MAX_PULLED_BYTES),
    findRegistryMarks(sql, orgId, ids),
  ])
  return { bodies, marks }
}

function failureOf(item: SentSkill | UnreadItem, step: SyncStep | undefined) {
  const { name } = item
  if ('message' in item) return { name, code: 'invalid_item', message: item.message }
  if (step?.action !== 'failed') return undefined
  return { name, code: step.code, message: MESSAGES[step.code] }
}

const MESSAGES: Readonly<Record<SyncFault, string>> = {
  invalid_name: `name ${NAME_RULE}`,
  duplicate_name: 'name is that of an item before it',
  frontmatter_in_body: `body_markdown ${BODY_RULES.frontmatter_in_body}`,
  too_large: `body_markdown ${BODY_RULES.too_large}`,
  hash_mismatch: 'content_hash must be the SHA-256 of body_markdown without outer white space',
  missing_local_updated_at: 'local_updated_at is needed by newer_wins',
  too_many_skills: `An organization has at most ${MAX_SKILLS} skills`,
  too_many_versions: `A skill has at most ${MAX_VERSIONS} versions`,
}

/** Of all bodies of an answer. */
const MAX_PULLED_BYTES = 5 << 20
