import { GiveUp } from '../../runtime/give-up.ts'
import { readJson } from './answers.ts'

/**
 * The pages of a list of a hub, as JSON. No more of the address of a next page is used than its cursor,
 * because a hub may name itself otherwise than it is reached.
 * @param ask reaches an address of the hub
 * @throws GiveUp for more than `MAX_PAGES`; what `ask` throws
 */
export async function* readPages(ask: (target: string) => Promise<Response>, list: string) {
  const first = `${list}?limit=${PAGE_ITEMS}`
  let cursor: string | null = null
  for (let page = 1; page <= MAX_PAGES; page++) {
    const response = await ask(
      cursor === null ? first : `${first}&cursor=${encodeURIComponent(cursor)}`,
    )
    yield await readJson(response)
    cursor = nextCursor(response.headers.get('link'))
    if (cursor === null) return
  }
  throw new GiveUp('hub_rejected', `The hub lists more than ${MAX_PAGES * PAGE_ITEMS} files`)
}

function nextCursor(link: string | null) {
  const [, next = ''] = /<([^>]*)>;\s*rel="next"/.exec(link ?? '') ?? []
  return URL.parse(next)?.searchParams.get('cursor') ?? null
}

const PAGE_ITEMS = 1000
/** Repositories of more files are nothing that a hub takes. */
const MAX_PAGES = 100
