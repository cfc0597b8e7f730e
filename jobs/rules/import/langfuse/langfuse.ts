import type { Assembled, Members, Part, PartsFormat } from '../format.ts'
import { metadataOfTrace } from './langfuse-metadata.ts'
import { mapObservation } from './langfuse-observation.ts'
import { langfuseParts } from './langfuse-parts.ts'
import { isLangfuse, mergedParts } from './langfuse-rows.ts'
import { holdsColumns, readLangfuseScores } from './langfuse-scores.ts'
import { langfuseTrace } from './langfuse-trace.ts'
import { isTold } from '../foreign/members-left.ts'
import { partsById } from '../foreign/parts-by-id.ts'

/**
 * Langfuse: downloads of a trace, rows of exports in the names of the UI and of the blob storage, pages
 * of its API, and bodies of its ingestion endpoint.
 */
export const langfuse: PartsFormat = {
  matches: isLangfuse,
  read: langfuseParts,
  holdsScores: holdsColumns,
  assemble,
}

function assemble(parts: readonly Part[]): Assembled {
  const traces = [...partsById(parts, 'trace').values()].map(mergedParts)
  const observations = [...partsById(parts, 'span')].map(([id, told]) => ({
    ...mergedParts(told),
    id,
  }))
  const { told, origin, losses } = langfuseTrace(traces[0] ?? impliedBy(observations), observations)
  const spans = observations.map(mapObservation)
  const scored = readLangfuseScores({
    traces,
    observations,
    scores: [...partsById(parts, 'score')].map(([id, same]) => ({ ...mergedParts(same), id })),
  })
  return {
    spans: spans.map(({ span, call }) => ({ span, call })),
    told,
    scores: scored.scores,
    corrections: scored.corrections,
    // What of a root's metadata the trace has no room for is still in its span.
    losses: [
      ...(traces[0] ? losses : []),
      ...spans.flatMap((each) => each.losses),
      ...scored.losses,
    ],
    origin: { ...projectOf([...traces, ...observations]), ...origin },
  }
}

/** What the root observation says of a trace that has no row. */
function impliedBy(observations: readonly Members[]): Members {
  const root = observations.find((each) => !isTold(each['parentObservationId']))
  return root ? { name: root['traceName'], metadata: metadataOfTrace(root['metadata']) } : {}
}

function projectOf(rows: readonly Members[]): Members {
  const project = rows.map(({ projectId }) => projectId).find((id) => typeof id === 'string')
  return project === undefined ? {} : { project_id: project }
}
