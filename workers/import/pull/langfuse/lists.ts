/** A list of Langfuse's API that is read window by window. */
export interface List {
  readonly path: string
  /** Rows that it gives at most. */
  readonly limit: number
  /** What its parameters for the window are called. */
  readonly from: string
  readonly to: string
  /** Whether its pages are numbered, or follow each other by a cursor. */
  readonly pages: 'numbered' | 'by cursor'
  readonly query: Readonly<Record<string, string>>
}

/** As the public API of Langfuse documents them; the earlier ones are for installations before its version 4. */
export const LISTS = {
  observations_v2: {
    path: '/api/public/v2/observations',
    limit: 1000,
    from: 'fromStartTime',
    to: 'toStartTime',
    pages: 'by cursor',
    query: { fields: 'core,basic,time,io,metadata,model,usage,prompt,metrics,trace_context' },
  },
  traces_v1: {
    path: '/api/public/traces',
    limit: 100,
    from: 'fromTimestamp',
    to: 'toTimestamp',
    pages: 'numbered',
    query: { fields: 'core,io', orderBy: 'timestamp.asc' },
  },
  observations_v1: {
    path: '/api/public/observations',
    limit: 100,
    from: 'fromStartTime',
    to: 'toStartTime',
    pages: 'numbered',
    query: {},
  },
  scores_v3: {
    path: '/api/public/v3/scores',
    limit: 100,
    from: 'fromTimestamp',
    to: 'toTimestamp',
    pages: 'by cursor',
    query: { fields: 'details,subject,annotation' },
  },
  scores_v2: {
    path: '/api/public/v2/scores',
    limit: 100,
    from: 'fromTimestamp',
    to: 'toTimestamp',
    pages: 'numbered',
    query: { fields: 'score' },
  },
  scores_v1: {
    path: '/api/public/scores',
    limit: 100,
    from: 'fromTimestamp',
    to: 'toTimestamp',
    pages: 'numbered',
    query: {},
  },
} satisfies Record<string, List>

export type ListName = keyof typeof LISTS

/** Ways to read the spans, the best one first, and ways to read the scores. */
export const SPAN_LISTS: readonly (readonly ListName[])[] = [
  ['observations_v2'],
  ['traces_v1', 'observations_v1'],
]
export const SCORE_LISTS: readonly (readonly ListName[])[] = [
  ['scores_v3'],
  ['scores_v2'],
  ['scores_v1'],
]
