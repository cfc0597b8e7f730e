import type { PageAsk, PlatformPage } from './platform.ts'

/** A page of rows, with what has to be asked about them. */
export interface RowsPage<FollowUp> {
  readonly records: PlatformPage['records']
  readonly next: string | undefined
  readonly followUps: readonly FollowUp[]
}

/** A page of what is said about rows, and how to ask for the rest of it. */
export interface SaidPage<FollowUp> {
  readonly records: PlatformPage['records']
  readonly more?: FollowUp | undefined
}

/**
 * Lists pages of rows, and after each of them the pages of what its follow-ups ask for. Each page is one
 * request, so that a platform which counts requests never makes a page impossible. What is left to ask is
 * in the cursor, `[next, ...followUps]`.
 */
export function withFollowUps<FollowUp>(
  listRows: (ask: PageAsk) => Promise<RowsPage<FollowUp>>,
  listSaid: (ask: PageAsk, followUp: FollowUp) => Promise<SaidPage<FollowUp>>,
) {
  return async (ask: PageAsk): Promise<PlatformPage> => {
    const [next, ...followUps] = openCursor<FollowUp>(ask.cursor)
    const [first, ...others] = followUps
    if (first === undefined) {
      const page = await listRows({ ...ask, cursor: next ?? undefined })
      return { records: page.records, next: cursorOf(page.next ?? null, page.followUps) }
    }
    const said = await listSaid(ask, first)
    const left = said.more === undefined ? others : [said.more, ...others]
    return { records: said.records, next: cursorOf(next, left) }
  }
}

function openCursor<FollowUp>(cursor: string | undefined): Cursor<FollowUp> {
  return cursor === undefined ? [null] : (JSON.parse(cursor) as Cursor<FollowUp>)
}

function cursorOf(next: string | null, followUps: readonly unknown[]) {
  const isEnd = next === null && followUps.length === 0
  return isEnd ? undefined : JSON.stringify([next, ...followUps])
}

type Cursor<FollowUp> = [next: string | null, ...FollowUp[]]
