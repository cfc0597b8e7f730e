import { isObject } from '../../core/reader.ts'
import { foreignScore } from '../foreign/foreign-score.ts'
import { parsedJson, textFrom } from '../foreign/foreign-value.ts'
import type { Correction, Loss, Members } from '../format.ts'
import { readTime } from '../foreign/foreign-time.ts'
import { camelRow, isKnownMember } from './langfuse-rows.ts'
import { asNumber, asText, isTold } from '../foreign/members-left.ts'

/** Scores and corrections of a trace of Langfuse: rows of their own, and columns of exported rows. */
export function readLangfuseScores({ traces, observations, scores }: Scored): ReadScores {
  const corrections: Correction[] = []
  const read: ReturnType<typeof foreignScore>[] = []
  for (const row of scores) {
    const correction = correctionIn(row)
    if (correction) corrections.push(correction)
    else if (isTold(valueOf(row)) || asText(row['comment'])) read.push(readScore(row))
  }
  for (const row of traces) for (const each of columnsOf(row, null)) read.push(each)
  for (const row of observations) for (const each of columnsOf(row, row['id'])) read.push(each)
  return {
    scores: read.map(({ score }) => score),
    corrections,
    losses: read.flatMap(({ losses }) => losses),
  }
}

/** What a person wrote in the place of the trace's answer; of a single step it stays a score. */
function correctionIn(row: Members): Correction | undefined {
  if (row['dataType'] !== 'CORRECTION' || spanIdOf(row) !== null) return undefined
  const given = textOf(row)
  if (given === null) return undefined
  const text = parsedJson(given)
  return {
    id: textFrom(row['id']),
    corrected_output: typeof text === 'string' ? text : given,
    created_at: readTime(row['timestamp'] ?? row['createdAt']) ?? null,
  }
}

function readScore(row: Members) {
  const metadata = parsedJson(row['metadata'])
  const kept = KEPT.filter((name) => isTold(row[name])).map((name) => [name, row[name]] as const)
  return foreignScore({
    platform: 'langfuse',
    id: row['id'],
    name: row['name'],
    value: valueOf(row),
    comment: row['comment'],
    spanId: spanIdOf(row),
    source: row['source'] === 'ANNOTATION' ? 'human' : 'external',
    at: readTime(row['timestamp'] ?? row['createdAt']),
    metadata: { ...(isTold(metadata) && { metadata }), ...Object.fromEntries(kept) },
  })
}

/** By its type where it names one, else as it is. Cells of tables are texts. */
function valueOf(row: Members): unknown {
  const { value, dataType } = row
  const number = asNumber(value)
  switch (dataType) {
    case 'BOOLEAN':
      return typeof value === 'boolean' ? value : (booleanOf(row) ?? value)
    case 'CATEGORICAL':
    case 'TEXT':
    case 'CORRECTION':
      return textOf(row) ?? value
    default:
      return number ?? textOf(row) ?? value
  }
}

function booleanOf({ value, stringValue }: Members): boolean | undefined {
  const words = [value, stringValue].map((word) => textFrom(word).toLowerCase())
  if (words.some((word) => word === '1' || word === 'true')) return true
  return words.some((word) => word === '0' || word === 'false') ? false : undefined
}

function textOf({ stringValue, longStringValue, value }: Members): string | null {
  return asText(longStringValue) ?? asText(stringValue) ?? asText(value)
}

/** Of the observation that the score is about; null for a score of the whole trace. */
function spanIdOf({ observationId, subject }: Members): unknown {
  if (isObject(subject)) return subject['kind'] === 'observation' ? subject['id'] : null
  return observationId ?? null
}

/** Whether a row that is no score has columns of scores. */
export function holdsColumns(row: Members): boolean {
  return columnsOf(camelRow(row), null).length > 0
}

/**
 * The UI exports a column for each name of a score, with its values in a list; they have no ids there.
 * Where they stand in their list tells them apart.
 */
function columnsOf(row: Members, spanId: unknown): ReturnType<typeof foreignScore>[] {
  const nested = parsedJson(row['scores'])
  const columns = [
    ...Object.entries(row).filter(([name]) => !isKnownMember(name)),
    ...(isObject(nested) ? Object.entries(nested) : []),
  ]
  return columns.flatMap(([name, cell]) => {
    const values: unknown = parsedJson(cell)
    if (!Array.isArray(values) || !values.every(isScalar)) return []
    return values.map((value, index) =>
      foreignScore({
        platform: 'langfuse',
        id: `column ${index}`,
        name,
        value,
        spanId,
        source: 'external',
      }),
    )
  })
}

function isScalar(value: unknown) {
  return ['number', 'string', 'boolean'].includes(typeof value)
}

/** What is told of a score that scores have no place for. */
const KEPT = ['dataType', 'authorUserId', 'configId', 'queueId', 'executionTraceId', 'environment']

interface Scored {
  readonly traces: readonly Members[]
  readonly observations: readonly Members[]
  readonly scores: readonly Members[]
}

interface ReadScores {
  readonly scores: readonly Members[]
  readonly corrections: readonly Correction[]
  readonly losses: readonly Loss[]
}
