import { faultOfBody, isSkillName } from './skill.ts'

/** What to do with the skills that a client sent, given those that are stored. */

/** Which text wins where a skill is stored with another body than the one sent. */
export const CONFLICT_POLICIES = ['local_wins', 'newer_wins', 'remote_wins', 'fail'] as const
export type ConflictPolicy = (typeof CONFLICT_POLICIES)[number]

/** A skill as it was sent; its body without outer white space. */
export interface SyncItem {
  readonly name: string
  readonly body: string
  /** SHA-256 of the body. */
  readonly sha256: Buffer
  /** What the client says the hash is, in hex. */
  readonly claimedHash?: string | undefined
  /** When it was last changed where it was sent from. */
  readonly changedAt?: Date | undefined
}

export interface StoredVersion {
  readonly id: string
  readonly version_number: number
  readonly body_sha256: Buffer
  readonly created_at: Date
}

export interface StoredSkill {
  readonly newest: StoredVersion
  /** When anything of it changed last, the newest version or what is said of it. */
  readonly updatedAt: Date
  /** The newest version that has the body which was sent. */
  readonly same?: StoredVersion | undefined
}

/** Why an item is left out; the other items are not. */
export const SYNC_FAULTS = [
  'invalid_name',
  'duplicate_name',
  'frontmatter_in_body',
  'too_large',
  'hash_mismatch',
  'missing_local_updated_at',
  'too_many_skills',
] as const
export type SyncFault = (typeof SYNC_FAULTS)[number]

export type SyncStep =
  | { readonly action: 'created' }
  /** The body becomes the newest version; an older one may have it already. */
  | { readonly action: 'pushed'; readonly restored: StoredVersion | undefined }
  /** What is stored stays; the client is told it. */
  | { readonly action: 'pulled' }
  /** The bodies are equal. What else is said of the skill is stored where `isLocal`. */
  | { readonly action: 'no_change'; readonly isLocal: boolean }
  | { readonly action: 'failed'; readonly code: SyncFault }

/** A version in the way of the first item that the policy `fail` does not admit. */
export interface SyncConflict {
  readonly item: SyncItem
  readonly version: StoredVersion
}

/**
 * One step an item, in order; or, under the policy `fail`, the first conflict, and nothing is to be done.
 * @param stored by name
 * @param options.room how many skills more there may be
 */
export function planSync(
  items: readonly SyncItem[],
  stored: ReadonlyMap<string, StoredSkill>,
  { policy, room }: { readonly policy: ConflictPolicy; readonly room: number },
): { readonly steps: readonly SyncStep[] } | { readonly conflict: SyncConflict } {
  const steps: SyncStep[] = []
  const chosen = chooseItems(items, policy)
  let left = room
  for (const item of items) {
    const isChosen = chosen.get(item.name) === item
    const code = faultOf(item, policy) ?? (isChosen ? undefined : 'duplicate_name')
    const skill = stored.get(item.name)
    if (code !== undefined) steps.push({ action: 'failed', code })
    else if (skill && policy === 'fail') {
      return { conflict: { item, version: skill.same ?? skill.newest } }
    } else if (skill) steps.push(decide(item, skill, policy))
    else if (left-- > 0) steps.push({ action: 'created' })
    else steps.push({ action: 'failed', code: 'too_many_skills' })
  }
  return { steps }
}

/** The first item of each name that nothing is wrong with, by name. */
export function chooseItems<Item extends SyncItem>(
  items: readonly Item[],
  policy: ConflictPolicy,
): ReadonlyMap<string, Item> {
  const right = items.filter((item) => faultOf(item, policy) === undefined)
  return new Map(right.toReversed().map((item) => [item.name, item]))
}

function faultOf(item: SyncItem, policy: ConflictPolicy): SyncFault | undefined {
  if (!isSkillName(item.name)) return 'invalid_name'
  const fault = faultOfBody(item.body)
  if (fault !== undefined) return fault
  const { claimedHash = item.sha256.toString('hex') } = item
  if (claimedHash.toLowerCase() !== item.sha256.toString('hex')) return 'hash_mismatch'
  return policy === 'newer_wins' && !item.changedAt ? 'missing_local_updated_at' : undefined
}

/** Of a valid item whose name is stored. */
function decide(item: SyncItem, skill: StoredSkill, policy: ConflictPolicy): SyncStep {
  if (item.sha256.equals(skill.newest.body_sha256)) {
    return { action: 'no_change', isLocal: isLocal(policy, item, skill.updatedAt) }
  }
  if (!isLocal(policy, item, skill.newest.created_at)) return { action: 'pulled' }
  return { action: 'pushed', restored: skill.same }
}

/** Whether what was sent wins over what is stored since `storedAt`. */
function isLocal(policy: ConflictPolicy, { changedAt }: SyncItem, storedAt: Date) {
  if (policy === 'newer_wins') return changedAt !== undefined && changedAt > storedAt
  return policy === 'local_wins'
}
