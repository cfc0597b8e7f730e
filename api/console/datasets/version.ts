import type { AnswerOf } from '../../endpoint.ts'
import type { showVersion } from '../../datasets/show-version.ts'

export type Version = AnswerOf<typeof showVersion>

/** The page of a version. */
export function pathOf({ dataset_id, version_number }: Version) {
  return `/console/datasets/${dataset_id}/versions/${version_number}`
}

/** It is built, or waits for that. */
export function isUnfinished({ status }: Pick<Version, 'status'>) {
  return status === 'queued' || status === 'building'
}
