import { isObject } from '../../../jobs/rules/core/reader.ts'
import { withFollowUps } from './follow-ups.ts'
import { ProjectUnknown, SourceRefused } from './platform.ts'
import type { PageAsk, Platform, Source } from './platform.ts'
import { textMembers } from './row-member.ts'

/** Phoenix: spans by `GET /v1/projects/{project}/spans`, and the annotations of each page of them. */
export const phoenix: Platform = {
  // As many ids as fit into one address when the annotations are asked for.
  pageRows: 100,
  headers: (_, { api_key: key }) => ({
    ...(key && { authorization: `Bearer ${key}` }),
  }),
  open: (source) => ({
    begin: () => findProject(source),
    listPage: withFollowUps<AnnotationsOf>(
      (ask) => listSpans(source, ask),
      (ask, followUp) => listAnnotations(source, ask, followUp),
    ),
  }),
}

async function findProject({ connection, ask }: Source) {
  const { rest } = await ask({ path: `/v1/projects/${encodeURIComponent(connection.project)}` })
  const id = isObject(rest['data']) ? rest['data']['id'] : undefined
  if (typeof id !== 'string') throw new ProjectUnknown()
  return id
}

async function listSpans(source: Source, { project, window, cursor, limit }: PageAsk) {
  const query = {
    start_time: window.from.toISOString(),
    end_time: window.to.toISOString(),
    limit,
    cursor,
  }
  const path = `/v1/projects/${encodeURIComponent(project)}/spans`
  const { rows, rest } = await source.ask({ path, query, rows: 'data' })
  async function idsOf(member: string) {
    const ids = await textMembers(rows, ['context', member])
    return [...new Set(ids)].filter((id) => ID.test(id))
  }
  const asks: AnnotationsOf[] = [
    { of: 'span', ids: await idsOf('span_id') },
    { of: 'trace', ids: await idsOf('trace_id') },
  ]
  return {
    records: rows,
    next: nextOf(rest),
    followUps: asks.filter(({ ids }) => ids.length > 0),
  }
}

/** The annotations of spans, or of traces; a server that has none of them says 404. */
async function listAnnotations(source: Source, { project, limit }: PageAsk, said: AnnotationsOf) {
  const { of, ids, cursor } = said
  const query = { [`${of}_ids`]: ids, limit, cursor }
  const path = `/v1/projects/${encodeURIComponent(project)}/${of}_annotations`
  try {
    const { rows, rest } = await source.ask({ path, query, rows: 'data' })
    const next = nextOf(rest)
    return { records: rows, more: next === undefined ? undefined : { of, ids, cursor: next } }
  } catch (error) {
    if (error instanceof SourceRefused && error.status === 404) return { records: [] }
    throw error
  }
}

function nextOf({ next_cursor: next }: Record<string, unknown>) {
  return typeof next === 'string' ? next : undefined
}

interface AnnotationsOf {
  readonly of: 'span' | 'trace'
  readonly ids: readonly string[]
  readonly cursor?: string
}

/** Ids of OpenTelemetry, and others that are no longer. */
const ID = /^[\w-]{1,32}$/
