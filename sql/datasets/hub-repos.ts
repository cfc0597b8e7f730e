import { onlyRow } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'

/**
 * Takes a repository for an organization's pushes with the token of the installation, which may write what
 * each of them made.
 * @returns false where it is another organization's
 */
export async function claimHubRepo(
  sql: Queryable,
  orgId: string,
  { hub_url, repo_id }: { readonly hub_url: string; readonly repo_id: string },
) {
  const claimed = await sql<{ is_own: boolean }[]>`
    insert into hub_repos ${sql({ org_id: orgId, hub_url, repo_id: repo_id.toLowerCase() })}
    on conflict (hub_url, repo_id) do update set org_id = hub_repos.org_id
    returning org_id = ${orgId} as is_own`
  return onlyRow(claimed).is_own
}
