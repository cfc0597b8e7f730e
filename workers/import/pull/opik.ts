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
  if (typeof id !== 'string') throw new ProjectUnknown()
  return id
}

/** The cursor is `traces` or `spans`, a colon, and the id of the last row of the page before. */
async function listPage(source: Source, ask: PageAsk): Promise<PlatformPage> {
  const { cursor = 'traces:', limit } = ask
  const [kind, last] = cursor.split(':') as [string, string]
  const rows = await search(source, ask, { kind, last, limit })
  const next = lastId(rows) ?? last
  // Whatever is asked for, a server may give fewer rows: the end is where it gives no further one.
  if (next !== last) return { records: rows, next: `${kind}:${next}` }
  if (limit > 1) await checkEnd(source, ask, { kind, last, limit: 1 })
  return { records: rows, next: kind === 'traces' ? 'spans:' : undefined }
}

/** A search that fails, of too many rows for the server, may end as if there were no further row. */
async function checkEnd(source: Source, ask: PageAsk, place: Place) {
  const id = lastId(await search(source, ask, place))
  if (id !== undefined && id !== place.last) throw brokeOff()
}

async function search({ ask }: Source, { project, window }: PageAsk, place: Place) {
  const { kind, last, limit } = place
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
  const { rows } = await ask({ path: `/v1/private/${kind}/search`, body, rows: null })
  return rows
}

/** An answer that breaks off ends with a row that says why, and has no id. */
function lastId(rows: readonly Buffer[]) {
  const row = rows.at(-1)
  if (!row) return undefined
  const id = textMember(row, ['id'])
  if (id === undefined || !isUuid(id)) throw brokeOff()
  return id
}

function brokeOff() {
  return new SourceUnreadable('The answer of the platform broke off')
}

interface Place {
  readonly kind: string
  /** Id of the row before; empty at the beginning. */
  readonly last: string
  readonly limit: number
}
