import { isClientId, isObject } from '../../core/reader.ts'
import { instantOf, readTime } from '../foreign/foreign-time.ts'
import { parsedJson } from '../foreign/foreign-value.ts'
import { fingerprint } from '../format.ts'
import type { Members } from '../format.ts'
import { isAnnotationName } from '../attributes/openinference-annotations.ts'
import type { Annotation } from '../attributes/openinference-annotations.ts'

/** The annotations that stand inside of a span's record. */
export function annotationsIn(record: Members, spanId: string): Annotation[] {
  return LISTS.flatMap((name) => {
    const list = record[name]
    return Array.isArray(list)
      ? list.filter(isObject).map((each) => annotationIn(each, spanId))
      : []
  })
}

/** Whether a span's record has annotations, beside its attributes or among them. */
export function holdsAnnotations(record: Members): boolean {
  if (LISTS.some((name) => Array.isArray(record[name]) && record[name].length > 0)) return true
  const attributes = parsedJson(record['attributes'])
  const names = Object.keys(isObject(attributes) ? attributes : {})
  const flat = Object.keys(record).map((name) => name.replace(/^attributes\./, ''))
  return [...names, ...flat].some(isAnnotationName)
}

/**
 * An annotation, `{name, annotator_kind, result: {label, score, explanation}, ...}`.
 * @param spanId of the span it stands in; null for one that stands alone
 */
export function annotationIn(record: Members, spanId: string | null): Annotation {
  const { id, span_id: own, trace_id: traceId, name, identifier, annotator_kind: kind } = record
  const about = isClientId(own) ? own : spanId
  return {
    id: isClientId(id) ? id : fingerprint([about ?? traceId, name, identifier ?? '', kind]),
    platform: 'phoenix',
    spanId: about,
    said: { ...record, ...(isObject(record['result']) && record['result']) },
    at: readTime(record['updated_at']) ?? readTime(record['created_at']) ?? null,
  }
}

/** Of those of one id the one that was changed last. */
export function latestOf(annotations: readonly Annotation[]): Annotation[] {
  const sorted = annotations
    .map((each) => [`${instantOf(each.at ?? '')} ${fingerprint(each.said)}`, each] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return [...new Map(sorted.map(([, each]) => [each.id, each])).values()]
}

/** Members of a span's record that hold annotations. */
const LISTS = ['annotations', 'span_annotations']
