import { isUuid } from '../../../jobs/rules/core/uuid.ts'
import { ProjectUnknown, SourceUnreadable } from './platform.ts'
import type { PageAsk, Platform, PlatformPage, Source } from './platform.ts'
import { textMember } from './row-member.ts'

/**
 * Opik: first the traces of a window, then its spans, by `POST /v1/private/traces/search` and
 * `/v1/private/spans/search`; their scores are in them. The address ends in what comes before `/v1`.
 */
export const opik: Platform = {
  pageRows: 2000,
  headers: ({ workspace }, { api_key: key }) => ({
    ...(key && { authorization: key }),
    ...(workspace && { 'comet-workspace': workspace }),
  }),
  open: (source) => ({
    begin: () => findProject(source),
    listPage: (ask) => listPage(source, ask),
  }),
}

async function findProject({ connection: { project }, ask }: Source) {
  const { rest } = await ask(
    isUuid(project)
      ? { path: `/v1/private/projects/${project}` }
      : { path: '/v1/private/projects/retrieve', body: { name: project } },
  )
  const { id } = rest
  if (typeof id !== 'string') throw new ProjectUnknown('The platform has no such project')
  return id
}

/** The cursor is `traces` or `spans`, a colon, and the id of the last row of the page before. */
async function listPage(source: Source, ask: PageAsk): Promise<PlatformPage> {
  const { project, window, cursor = 'traces:', limit } = ask
  const [kind, last] = cursor.split(':') as [string, string]
  const body = {
    project_id: project,
    filters: [
      { field: 'start_time', operator: '>=', value: window.from.toISOString() },
      { field: 'start_time', operator: '<', value: window.to.toISOString() },
    ],
    limit,
    truncate: false,
    ...(last !== '' && { last_retrieved_id: last }),
  }
  const { rows } = await source.ask({ path: `/v1/private/${kind}/search`, body, rows: null })
  const next = rows.length > 0 ? lastId(rows) : last
  // Whatever is asked for, a server may give fewer rows: the end is where it gives no further one.
  if (next !== last) return { records: rows, next: `${kind}:${next}` }
  return { records: rows, next: kind === 'traces' ? 'spans:' : undefined }
}

/** An answer that breaks off ends with a row that says why, and has no id. */
function lastId(rows: readonly Buffer[]) {
  const id = textMember(rows.at(-1) as Buffer, ['id'])
  if (id === undefined || !isUuid(id))
    throw new SourceUnreadable('The answer of the platform broke off')
  return id
}
