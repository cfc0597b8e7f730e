import type { CommitOperation } from '@huggingface/hub'
import { hash } from 'node:crypto'
import { cardOf } from '../../../jobs/rules/datasets/card.ts'
import { describeVersion } from '../../../jobs/rules/datasets/version-facts.ts'
import { VERSION_FILE } from '../../../jobs/rules/datasets/hub/push-commit.ts'
import { findCardFacts } from '../../../sql/datasets/card-facts.ts'
import type { VersionRow } from '../../../sql/datasets/versions.ts'
import type { Run } from '../../runtime/handler.ts'
import { StoredBlob } from './stored-blob.ts'

/** What a push puts into a repository. */
export interface PushedFile {
  readonly path: string
  readonly content: Blob
}

/**
 * The card, the provenance, and the Parquet files with rows, read from the storage as they are sent.
 * @returns with the files the `contents` of `PushIdentity`
 */
export async function listPushedFiles({ sql, orgId, storage }: Run, version: VersionRow) {
  const facts = await findCardFacts(sql, orgId, version.id)
  if (!facts) throw new Error(`Version ${version.id} is not ready`)
  const files = facts.files.filter(({ format, row_count: n }) => format === 'parquet' && n > 0)
  const [card, provenance] = [cardOf(facts), describeVersion(version, files)]
  const pushed: PushedFile[] = [
    { path: 'README.md', content: new Blob([card]) },
    { path: 'provenance.json', content: new Blob([provenance]) },
    ...files.map(({ path, storage_key, size_bytes }) => ({
      path,
      content: new StoredBlob(storage, storage_key, { start: 0, end: size_bytes }),
    })),
  ]
  return { files: pushed, contents: hash('sha256', JSON.stringify([card, provenance])) }
}

/** Adds the files, and deletes those that another version left. @param found paths in the repository */
export function commitOperations(
  files: readonly PushedFile[],
  found: readonly string[],
): CommitOperation[] {
  const paths = new Set(files.map(({ path }) => path))
  const left = found.filter((path) => VERSION_FILE.test(path) && !paths.has(path))
  return [
    ...files.map((file) => ({ operation: 'addOrUpdate' as const, ...file })),
    ...left.map((path) => ({ operation: 'delete' as const, path })),
  ]
}
