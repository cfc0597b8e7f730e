import { isObject } from '../../../jobs/rules/core/reader.ts'
import { GiveUp } from '../../runtime/give-up.ts'
import { ProjectUnknown, SourceRefused, SourceUnreadable } from './platform.ts'
import type { PageAsk, Platform, PlatformPage, Source, Window } from './platform.ts'
import { LISTS, SCORE_LISTS, SPAN_LISTS } from './langfuse-lists.ts'
import type { List, ListName } from './langfuse-lists.ts'
import { openMetadata } from './whole-metadata.ts'
import type { Metadata } from './whole-metadata.ts'

/**
 * Langfuse. Its keys are of one project. Observations come by the list of version 4, which also tells what
 * their traces are, else traces and observations by those of version 3; scores likewise.
 */
export const langfuse: Platform = {
  pageRows: 1000,
  headers(_, { public_key = '', secret_key = '' }) {
    return { authorization: `Basic ${btoa(`${public_key}:${secret_key}`)}` }
  },
  open(source) {
    const metadata = openMetadata()
    return {
      async begin() {
        await checkProject(source)
        const spans = await findLists(source, SPAN_LISTS)
        const scores = await findLists(source, SCORE_LISTS)
        return [...spans, ...scores].join()
      },
      listPage: (ask) => listPage(source, ask, metadata),
      mostRows: (ask) => LISTS[placeOf(ask).name].limit,
    }
  },
}

async function checkProject(source: Source) {
  const { project } = source.connection
  const { rest } = await source.ask({ path: '/api/public/projects' })
  const listed: unknown[] = Array.isArray(rest['data']) ? rest['data'] : []
  const isKnown = listed.some(
    (each) => isObject(each) && (each['id'] === project || each['name'] === project),
  )
  if (!isKnown) throw new ProjectUnknown('The keys are of another project')
}

/** The first of the ways that this installation has. */
async function findLists(source: Source, ways: typeof SPAN_LISTS): Promise<readonly ListName[]> {
  for (const way of ways) {
    const has = await Promise.all(way.map((name) => hasList(source, LISTS[name])))
    if (has.every(Boolean)) return way
  }
  throw new GiveUp('source_rejected', 'The platform has none of the lists that are read')
}

async function hasList(source: Source, list: List) {
  try {
    await source.ask({ path: list.path, query: { ...windowOf(list, NO_WINDOW), limit: 1 } })
    return true
  } catch (error) {
    if (error instanceof SourceRefused && ABSENT.has(error.status)) return false
    throw error
  }
}

/** Pages of the lists one after the other; the cursor names the list and the place in it. */
async function listPage(source: Source, ask: PageAsk, metadata: Metadata): Promise<PlatformPage> {
  const { names, name, at } = placeOf(ask)
  const list: List = LISTS[name]
  const page =
    list.pages === 'numbered'
      ? await numberedPage(source, list, ask, at)
      : await cursorPage(source, list, ask, at, name === 'observations_v2' ? metadata : undefined)
  const next = page.at === undefined ? names[names.indexOf(name) + 1] : name
  const { rows: records, at: _, ...others } = page
  return {
    ...others,
    records,
    next: next && JSON.stringify({ name: next, at: page.at } satisfies Place),
  }
}

function placeOf({ project, cursor }: Pick<PageAsk, 'project' | 'cursor'>) {
  const names = project.split(',') as [ListName, ...ListName[]]
  const { name = names[0], at } = cursor ? (JSON.parse(cursor) as Place) : {}
  return { names, name, at }
}

async function cursorPage(
  source: Source,
  list: List,
  { window, limit }: PageAsk,
  cursor: string | undefined,
  metadata: Metadata | undefined,
): Promise<ListPage> {
  async function read(expandMetadata?: string) {
    const query = { ...windowOf(list, window), ...list.query, expandMetadata, cursor }
    return source.ask({
      path: list.path,
      query: { ...query, limit: rowsOf(list, limit) },
      rows: 'data',
    })
  }
  const { answer, losses } = metadata
    ? await metadata.complete(read)
    : { answer: await read(), losses: {} }
  const { rows, rest } = answer
  const next = isObject(rest['meta']) ? rest['meta']['cursor'] : undefined
  if (typeof next !== 'string' || next === '') return { rows, at: undefined, losses }
  // It would be asked for without end.
  if (next === cursor)
    throw new SourceUnreadable('The platform names the same page as the next one')
  return { rows, at: next, losses }
}

/**
 * @param at the number of the page and how many rows a page was asked for; with another limit pages are
 * others, so that the list begins again
 */
async function numberedPage(
  source: Source,
  list: List,
  { window, limit: asked }: PageAsk,
  at = '1/0',
): Promise<ListPage> {
  const [number = 1, before] = at.split('/').map(Number)
  const limit = rowsOf(list, asked)
  const page = before === limit ? number : 1
  const query = { ...windowOf(list, window), ...list.query, limit, page }
  const { rows, rest } = await source.ask({ path: list.path, query, rows: 'data' })
  const counted = isObject(rest['meta']) ? rest['meta']['totalPages'] : undefined
  const pages = typeof counted === 'number' ? counted : rows.length < limit ? page : page + 1
  return { rows, at: page < pages ? `${page + 1}/${limit}` : undefined, pages, losses: {} }
}

function rowsOf({ limit }: List, asked: number) {
  return Math.min(limit, asked)
}

function windowOf({ from, to }: List, window: Window) {
  return { [from]: window.from.toISOString(), [to]: window.to.toISOString() }
}

/** A window that holds nothing. */
const NO_WINDOW: Window = { from: new Date(0), to: new Date(1000) }
/** Not found, gone, and what an installation answers that has a list switched off. */
const ABSENT: ReadonlySet<number> = new Set([404, 405, 410, 501])

interface Place {
  readonly name?: ListName
  readonly at?: string | undefined
}
interface ListPage {
  readonly rows: readonly Buffer[]
  /** Where the list goes on; undefined at its end. */
  readonly at: string | undefined
  readonly pages?: number
  readonly losses: Readonly<Record<string, number>>
}
