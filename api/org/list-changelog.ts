import Joi from 'joi'
import { describeEvent, nameResource } from '../../jobs/rules/org/changelog-text.ts'
import { int, listOf, shape, someOf, time } from '../../jobs/shape.ts'
import * as changelog from '../../sql/org/changelog.ts'
import type { ChangelogRow } from '../../sql/org/changelog.ts'
import { endpoint } from '../endpoint.ts'
import { cursorQuery, nullable, times } from '../fields.ts'
import { decodeCursor, encodeCursor } from '../pagination.ts'
import { readableProjects } from '../projects.ts'

export const CHANGELOG_TYPES = ['manifest', 'regression', 'audit', 'training'] as const

const eventBody = Joi.object({
  id: Joi.string().guid().required(),
  type: Joi.string()
    .valid(...CHANGELOG_TYPES)
    .required(),
  event_type: Joi.string().required(),
  project_id: nullable(Joi.string().guid()),
  agent_name: nullable(Joi.string()),
  title: Joi.string().required(),
  summary: Joi.string().required(),
  actor: Joi.object({
    type: Joi.string().valid('api_key', 'operator', 'system').required(),
    id: nullable(Joi.string().guid()),
    name: nullable(Joi.string()).description('The label of the key'),
  })
    .required()
    .label('Actor'),
  resource: Joi.object({
    type: Joi.string().required(),
    id: Joi.string().guid().required(),
    name: nullable(Joi.string()),
  })
    .required()
    .label('ChangedResource'),
  data: Joi.object().unknown(true).required(),
  is_fixture: Joi.boolean().required(),
  occurred_at: times.required(),
}).label('ChangelogEvent')

export const listChangelog = endpoint('GET', '/changelog', {
  summary: 'What happened in the organization, newest first',
  description:
    'Keys of a workspace or project see what is about its projects; audit events are told to global keys.',
  access: 'key',
  query: shape(
    {},
    {
      since: time().description('Only events after it'),
      types: someOf(...CHANGELOG_TYPES).description('Separated by commas; default all'),
      limit: int(1, 200).default(50),
      include_fixtures: Joi.boolean()
        .default(false)
        .description('Also events of agents that say metadata.fixture = true'),
      cursor: cursorQuery.cursor,
    },
  ),
  answers: {
    200: Joi.object({
      events: listOf(eventBody).required(),
      next_cursor: nullable(Joi.string()).description('Give it as `cursor` to read on'),
    }).label('Changelog'),
  },
  async handle({ context: { sql }, principal, query }) {
    const { limit } = query
    const asked = query.types?.split(',')
    const rows = await changelog.listChangelog(sql, principal.orgId, {
      projectIds: await readableProjects(sql, principal, undefined),
      types: CHANGELOG_TYPES.filter((type) => !asked || asked.includes(type)),
      since: query.since,
      before: decodeCursor(query.cursor),
      includeFixtures: query.include_fixtures,
      limit: limit + 1,
    })
    const shown = rows.slice(0, limit)
    const last = shown.at(-1)
    const isMore = last && rows.length > limit
    return {
      events: shown.map(viewEvent),
      next_cursor: isMore ? encodeCursor([last.occurred_at, last.id]) : null,
    }
  },
})

function viewEvent(row: ChangelogRow) {
  return {
    id: row.id,
    type: row.type,
    event_type: row.event_type,
    project_id: row.project_id,
    agent_name: row.agent_name,
    ...describeEvent(row),
    actor: { type: row.actor_type, id: row.actor_id, name: row.actor_name },
    resource: { type: row.resource_type, id: row.resource_id, name: nameResource(row) },
    data: row.data,
    is_fixture: row.is_fixture,
    occurred_at: row.occurred_at,
  }
}
