import { openInstallNames } from '../../jobs/rules/skills/install-name.ts'
import type { InstallNames, TakenNames } from '../../jobs/rules/skills/install-name.ts'
import {
  isWithheld,
  itemError,
  notesOf,
  pinOf,
  readVersion,
} from '../../jobs/rules/skills/resolution.ts'
import type { ItemError, ItemErrorCode } from '../../jobs/rules/skills/resolution.ts'
import { chooseSkill, lookupsOf, lookupsOfId } from '../../jobs/rules/skills/skill-lookup.ts'
import type { Lookup } from '../../jobs/rules/skills/skill-lookup.ts'
import type { Sql } from '../../sql/core/db.ts'
import { findCandidates } from '../../sql/skills/candidates.ts'
import type { CandidateRow, SkillReader } from '../../sql/skills/candidates.ts'
import { findResolvedVersions, readResolvedBodies } from '../../sql/skills/resolved-versions.ts'
import type { ResolvedVersionRow, WantedVersion } from '../../sql/skills/resolved-versions.ts'

/** An item as it is sent. */
export interface SentItem {
  readonly ref?: string | undefined
  readonly skill_id?: string | undefined
  readonly version?: string | number | undefined
  readonly version_id?: string | undefined
  /** Of the body, in hex. */
  readonly content_hash?: string | undefined
}

/** A skill that has a folder, with its body. */
export interface Resolved extends Found {
  readonly installName: string
  readonly body: string
  readonly notes: readonly string[]
}

export interface Failed {
  readonly ref: string
  readonly error: ItemError
  /** What is withheld. */
  readonly withheld?: Found
}

/** A version that the caller may know of. */
export interface Found {
  readonly ref: string
  readonly skill: CandidateRow
  readonly version: ResolvedVersionRow
}

/**
 * What became of each item, in their order. Takes three statements on one snapshot, whatever the items
 * are. The bodies are 25 MiB at most: 100 of 256 KiB.
 * @param reader null for somebody unknown, who is answered from the public registry alone
 */
export async function resolveItems(
  sql: Sql,
  reader: SkillReader | null,
  sent: readonly SentItem[],
  taken: TakenNames,
): Promise<(Resolved | Failed)[]> {
  const items = sent.map((item) => readItem(item, taken))
  const lookups = items.flatMap((item) => ('error' in item ? [] : item.lookups))
  const { settled, bodies } = await sql.begin(
    'isolation level repeatable read read only',
    async (tx) => {
      const candidates = await findCandidates(tx, reader, lookups)
      const chosen = chooseSkills(items, candidates)
      const wanted = chosen.flatMap((item) => ('error' in item ? [] : item.wanted))
      const versions = await findResolvedVersions(tx, reader, wanted)
      const settled = settleItems(chosen, versions, taken)
      const ids = settled.flatMap((item) => ('error' in item ? [] : item.version.version_id))
      return { settled, bodies: await readResolvedBodies(tx, reader, ids) }
    },
  )
  return settled.map((item) => {
    if ('error' in item) return item
    const body = bodies.get(item.version.version_id)
    if (body === undefined) throw new Error('A version of the snapshot has no body')
    return { ...item, body }
  })
}

function readItem(sent: SentItem, taken: TakenNames): Item | Failed {
  const { ref, skill_id: skillId, version_id: versionId, content_hash: contentHash } = sent
  const asked = ref ?? skillId ?? ''
  const wish = readVersion(sent.version)
  const isTwice =
    (ref !== undefined && skillId !== undefined) ||
    (sent.version !== undefined && versionId !== undefined)
  if (!wish || isTwice) return fail(asked, 'invalid_item')
  const lookups = ref === undefined ? lookupsOfId(asked) : lookupsOf(ref, taken)
  const isOpen = wish.isOpen && versionId === undefined
  return { ref: asked, lookups, contentHash, isOpen, version: wish.version, versionId }
}

/** @param candidates by their place in the lookups of all items */
function chooseSkills(items: readonly (Item | Failed)[], candidates: readonly CandidateRow[]) {
  const answers = Map.groupBy(candidates, ({ lookup }) => lookup)
  let place = 0
  return items.map((item): Chosen | Failed => {
    if ('error' in item) return item
    const choice = chooseSkill(item.lookups.map(() => answers.get(place++) ?? []))
    if (!choice.chosen) {
      return fail(item.ref, choice.error, choice.error === 'ambiguous_ref' ? choice.names : [])
    }
    const { chosen: skill, isShadowing } = choice
    const pin = item.isOpen ? pinOf(skill.pins) : undefined
    return {
      ...item,
      skill,
      isShadowing,
      isPinned: pin !== undefined,
      hasRivalPins: item.isOpen && skill.pins.length > 1,
      wanted: {
        skill_id: skill.skill_id,
        is_own: skill.scope === 'own',
        version_number: item.version,
        version_id: item.versionId ?? pin,
      },
    }
  })
}

/** @param versions by their place among those wanted */
function settleItems(
  items: readonly (Chosen | Failed)[],
  versions: readonly ResolvedVersionRow[],
  taken: TakenNames,
) {
  const found = new Map(versions.map((version) => [version.wanted, version]))
  const names = openInstallNames(taken)
  const installed = new Map<string, string>()
  let place = 0
  return items.map((item): Settled | Failed => {
    if ('error' in item) return item
    const version = found.get(place++)
    if (!version) return fail(item.ref, 'version_not_found')
    const settled = settle(item, version, names, installed.get(item.skill.skill_id))
    if (!('error' in settled)) installed.set(item.skill.skill_id, version.version_id)
    return settled
  })
}

/** @param installedId the version of the same skill that an item before has */
function settle(
  { ref, skill, contentHash, ...item }: Chosen,
  version: ResolvedVersionRow,
  names: InstallNames,
  installedId: string | undefined,
): Settled | Failed {
  const { scope, skill_id: id } = skill
  const { band, stability, is_held: isHeld } = version
  const found = { ref, skill, version }
  if (isWithheld({ scope, band, isHeld })) return { ...fail(ref, 'withheld'), withheld: found }
  if (contentHash !== undefined && contentHash !== version.body_sha256.toString('hex')) {
    return fail(ref, 'hash_mismatch')
  }
  if (installedId !== undefined && installedId !== version.version_id) {
    return fail(ref, 'version_conflict')
  }
  const installName = names.choose({ id, name: skill.name, owner: skill.owner })
  if (installName === undefined) return fail(ref, 'name_unavailable')
  const notes = notesOf({
    scope,
    band,
    stability,
    isPinned: item.isPinned,
    hasRivalPins: item.hasRivalPins,
    hasNewer: version.has_newer,
    isNameKept: installName !== skill.name && names.isKept(installName),
    isMisplaced: names.isMisplaced(id),
    isShadowing: item.isShadowing,
  })
  return { ...found, installName, notes }
}

function fail(ref: string, code: ItemErrorCode, names?: readonly string[]): Failed {
  return { ref, error: itemError(code, ref, names) }
}

interface Item {
  readonly ref: string
  readonly lookups: readonly Lookup[]
  readonly contentHash: string | undefined
  /** Nothing was said of the version: an assignment may decide. */
  readonly isOpen: boolean
  /** Without either it is the latest. */
  readonly version: number | undefined
  readonly versionId: string | undefined
}

interface Chosen extends Item {
  readonly skill: CandidateRow
  readonly isShadowing: boolean
  readonly isPinned: boolean
  readonly hasRivalPins: boolean
  readonly wanted: WantedVersion
}

type Settled = Omit<Resolved, 'body'>
