import { isObject } from '../../core/reader.ts'
import { foreignScore } from '../foreign/foreign-score.ts'
import { textFrom } from '../foreign/foreign-value.ts'
import type { Loss, Members } from '../format.ts'
import { fingerprint } from '../format.ts'
import { asId, asNumber, asText, membersOf, take, untold } from '../foreign/members-left.ts'

/**
 * The scores in what Opik tells of a trace and its spans, and those that were pushed. Of one that comes
 * both ways the former counts, because Opik has told it since.
 * @param told `feedback_scores`, each beside the id of its trace or span
 */
export function opikScores(
  told: readonly Members[],
  pushed: readonly Members[],
  traceId: string,
): { scores: Members[]; losses: Loss[] } {
  const given = [...told.flatMap(scoresOf), ...pushed.flatMap(authorsOf)]
  const byId = new Map<string, Told>()
  for (const each of given) {
    const id = `${each.of}:${fingerprint([each.members['name'], each.author])}`
    if (!byId.has(id)) byId.set(id, each)
  }
  const read = [...byId].map(([id, each]) => readScore(id, each, traceId))
  return {
    scores: read.map(({ score }) => score),
    losses: [...told.flatMap(faultsOf), ...read.flatMap(({ losses }) => losses)],
  }
}

function faultsOf({ id, feedback_scores: scores }: Members): Loss[] {
  const faulty = Array.isArray(scores) ? scores.filter((score) => !isObject(score)) : []
  const message = `${textFrom(id)}: a feedback score is no object`
  return faulty.map(() => ({ code: 'member_invalid', message }))
}

function scoresOf({ id, feedback_scores: scores }: Members): Told[] {
  if (!Array.isArray(scores)) return []
  return scores.filter(isObject).flatMap((score) => authorsOf({ ...score, id }))
}

/** Where several people scored, what each of them said: the score itself is their mean. */
function authorsOf(score: Members): Told[] {
  const of = asId(score['id']) ?? ''
  const { value_by_author: byAuthor, ...whole } = score
  const authors = isObject(byAuthor) ? Object.entries(byAuthor) : []
  const several = authors.length > 1 && authors.every(([, said]) => isObject(said))
  if (!several) return [{ of, author: null, members: score }]
  return authors
    .slice(0, MAX_AUTHORS)
    .map(([author, said]) => ({ of, author, members: { ...whole, ...(said as Members), author } }))
}

function readScore(id: string, { of, members }: Told, traceId: string) {
  const left = membersOf(members)
  for (const name of ['id', 'trace_id', 'project_name', 'project_id']) left.delete(name)
  return foreignScore({
    platform: 'opik',
    id,
    name: take(left, ['name'], asText),
    value: take(left, ['value'], asNumber),
    label: take(left, ['category_name'], asText),
    comment: take(left, ['reason'], asText),
    spanId: of === traceId ? null : of,
    source: left.get('source') === 'ui' ? 'human' : 'external',
    at: take(left, ['last_updated_at', 'created_at'], asText),
    metadata: untold(left),
  })
}

interface Told {
  /** The trace or span. */
  readonly of: string
  readonly author: string | null
  readonly members: Members
}

const MAX_AUTHORS = 1000
