import Joi from 'joi'
import { VERDICTS } from '../../jobs/rules/core/verdicts.ts'
import { int, listOf, shape } from '../../jobs/shape.ts'
import {
  listExportedSessions,
  listSessionTurns,
  MAX_TRIGGERS,
  openExported,
} from '../../sql/replay/exports.ts'
import type {
  ExportedSession,
  ExportedTrace,
  ExportFilter,
  SessionTurn,
} from '../../sql/replay/exports.ts'
import { nameText } from '../../sql/replay/recorded-traces.ts'
import type { TraceName } from '../../sql/replay/recorded-traces.ts'
import type { Queryable } from '../../sql/core/db.ts'
import { endpoint } from '../endpoint.ts'
import { errorBody, nullable } from '../fields.ts'
import { openTurns } from '../in-turns.ts'
import { jsonLines, jsonList } from '../json-lines.ts'
import { readableProjects } from '../projects.ts'
import { exportQuery } from './exports.ts'

/** Turns of one session at most. */
const MAX_TURNS = 5000
/** Sessions whose turns are known at once. */
const SESSIONS_A_READ = 10

const verdictField = Joi.string().valid(...VERDICTS)

export const exportSessions = endpoint('GET', '/replay/export/sessions', {
  summary: 'Download whole sessions in which a trace has a verdict, newest first',
  description: `Every turn of them, by \`turn_index\`, those without one last, then by start; at most the first ${MAX_TURNS.toLocaleString('en')} of a session, then with \`turns_truncated\`. A trigger is a trace with the verdict, of the agent where one is named; sessions are those of the newest ${MAX_TRIGGERS.toLocaleString('en')} triggers.`,
  access: 'key',
  query: shape({}, { ...exportQuery, limit: int(1, 500).default(100) }),
  answers: {
    200: Joi.object({
      sessions: listOf(
        Joi.object({
          session_id: Joi.string().required(),
          project_id: Joi.string().required(),
          agent_name: Joi.string().required().description('Of the newest trigger'),
          turns: listOf(
            Joi.object({
              turn_index: nullable(Joi.number().integer()),
              trace_id: Joi.string().required(),
              agent_name: Joi.string().required(),
              user_input: nullable(Joi.string()),
              original_output: nullable(Joi.string()),
              verdict: nullable(verdictField),
              is_trigger: Joi.boolean().required(),
            }).label('ReplayTurn'),
          ).required(),
          total_turns: Joi.number().integer().required(),
          turns_truncated: Joi.boolean().required(),
          trigger_count: Joi.number().integer().required(),
          verdict: verdictField.required(),
        }).label('ReplaySession'),
      ).required(),
    })
      .label('ReplaySessionList')
      .description('With `format=jsonl`, JSON Lines of type application/x-ndjson'),
    404: errorBody,
  },
  async handle({ context: { sql }, principal, query }) {
    const { limit, format, project, ...given } = query
    const filter = { ...given, projectIds: await readableProjects(sql, principal, project) }
    const sessions = await listExportedSessions(sql, principal.orgId, filter, limit)
    const shown = viewSessions(sql, principal.orgId, sessions, filter)
    return format === 'jsonl'
      ? jsonLines('replay-sessions.jsonl', shown)
      : jsonList('sessions', shown)
  },
})

async function* viewSessions(
  sql: Queryable,
  orgId: string,
  sessions: readonly ExportedSession[],
  filter: ExportFilter,
) {
  const pause = openTurns()
  for (let start = 0; start < sessions.length; start += SESSIONS_A_READ) {
    const read = sessions.slice(start, start + SESSIONS_A_READ)
    const turns = Map.groupBy(
      await listSessionTurns(sql, orgId, read, filter, MAX_TURNS),
      sessionText,
    )
    // What made it be listed may have been deleted or decided anew.
    const shown = read
      .map((session) => ({ session, turns: turns.get(sessionText(session)) ?? [] }))
      .filter((each) => each.turns[0]?.trigger_count)
    const names = shown.flatMap((each) => each.turns)
    const take = divide(openExported(sql, orgId, names, pause))
    for (const each of shown) yield viewSession(each.session, each.turns, filter, take(each.turns))
  }
}

function sessionText({ project_id, session_id }: { project_id: string; session_id: string }) {
  return `${project_id} ${session_id}`
}

/** Gives out traces part by part: of those that come next the ones that are named, until another comes. */
function divide(traces: AsyncIterator<ExportedTrace>) {
  let next: Promise<IteratorResult<ExportedTrace>> | undefined
  return async function* (names: readonly TraceName[]) {
    const named = new Set(names.map(nameText))
    for (;;) {
      next ??= traces.next()
      const { done, value } = await next
      if (done || !named.has(nameText(value))) return
      next = undefined
      yield value as ExportedTrace
    }
  }
}

/** The JSON text of a session, in pieces: the texts of all its turns may be too large to be in memory. */
async function* viewSession(
  session: ExportedSession,
  turns: readonly SessionTurn[],
  { verdict }: ExportFilter,
  opened: AsyncIterable<ExportedTrace>,
) {
  const triggers = new Set(turns.filter((turn) => turn.is_trigger).map(({ trace_id }) => trace_id))
  const { total_turns = 0, trigger_count = 0 } = turns[0] ?? {}
  const counts = { total_turns, turns_truncated: total_turns > turns.length, trigger_count }
  yield `${JSON.stringify(session).slice(0, -1)},"turns":[`
  let before = ''
  for await (const trace of opened) {
    yield before + JSON.stringify(viewTurn(trace, triggers.has(trace.trace_id)))
    before = ','
  }
  yield `],${JSON.stringify({ ...counts, verdict }).slice(1)}`
}

function viewTurn(trace: ExportedTrace, is_trigger: boolean) {
  const { turn_index, trace_id, agent_name, user_input, original_output, verdict } = trace
  return { turn_index, trace_id, agent_name, user_input, original_output, verdict, is_trigger }
}
