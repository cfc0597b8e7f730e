/** A commit as a hub lists it. */
export interface HubCommit {
  readonly id: string
  /** The first line. */
  readonly title: string
  /** The rest. */
  readonly message: string
}

/** What a push is known by in a repository. */
export interface PushIdentity {
  readonly pushId: string
  readonly versionId: string
  /** SHA-256 of the card and the provenance, which names the other files by theirs. */
  readonly contents: string
}

/** Title and description of the commit of a push. */
export function describeCommit(
  { pushId, versionId, contents }: PushIdentity,
  message: string | null,
) {
  const title = `version ${versionId}`
  return {
    title: message ? `${title}: ${message}` : title,
    description: `push ${pushId}\ncontents ${contents}`,
  }
}

/**
 * The commit that makes a push unnecessary: its own, or the newest one, where it has the same contents.
 * What was committed after that one may have changed its files.
 * @param commits newest first
 */
export function findPushed<C extends HubCommit>(
  commits: readonly C[],
  { pushId, contents }: PushIdentity,
): C | undefined {
  const own = commits.find((commit) => hasLine(commit, `push ${pushId}`))
  if (own) return own
  const [newest] = commits
  return newest && hasLine(newest, `contents ${contents}`) ? newest : undefined
}

function hasLine({ message }: HubCommit, line: string) {
  return message.split('\n').some((other) => other.trim() === line)
}

/** The files of versions, by the names that builds give them. */
export const VERSION_FILE = /^data\/(train|validation|test)-\d{5}-of-\d{5}\.parquet$/
