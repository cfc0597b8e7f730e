import { collide, foldPath } from './file-path.ts'

/** The files of a version beside its SKILL.md: what they are, how many and how large. */

export const MEDIA_TYPE = /^[\w.+-]+\/[\w.+-]+( *; *[\w-]+=[\w.+-]+)*$/
export const MODES = ['0644', '0755'] as const
export type Mode = (typeof MODES)[number]

export interface VersionFile {
  /** One that `faultOfPath` allows. */
  readonly path: string
  /** SHA-256 of the content. */
  readonly sha256: Buffer
  readonly mode: Mode
  readonly size_bytes: number
  readonly content_type: string
}

/** Why files cannot be put to others. */
export type FilesFault<Present extends VersionFile> =
  | { readonly kind: 'collision'; readonly path: string; readonly present: Present }
  | { readonly kind: 'too_large'; readonly message: string }

export const MAX_FILE_BYTES = 1024 * 1024
/** Of a version, and their bytes together. */
const MAX_FILES = 200
export const MAX_FILES_BYTES = 5 * MAX_FILE_BYTES

/**
 * Puts the sent files to those that are there, where each replaces the one of its path. No two of the sent
 * ones may collide.
 * @returns those that change anything
 */
export function planFiles<Present extends VersionFile, Sent extends VersionFile>(
  present: readonly Present[],
  sent: readonly Sent[],
): { readonly changed: readonly Sent[] } | { readonly fault: FilesFault<Present> } {
  const before = new Map(present.map((file) => [file.path, file]))
  const folded = present.map((file) => ({ file, fold: foldPath(file.path) }))
  for (const { path } of sent.filter((file) => !before.has(file.path))) {
    const fold = foldPath(path)
    const other = folded.find((each) => collide(each.fold, fold))
    if (other) return { fault: { kind: 'collision', path, present: other.file } }
  }
  const after = new Map<string, VersionFile>(before)
  for (const file of sent) after.set(file.path, file)
  const message = faultOfSizes([...after.values()])
  if (message !== undefined) return { fault: { kind: 'too_large', message } }
  return { changed: sent.filter((file) => !isSame(file, before.get(file.path))) }
}

/** The index of the first path that cannot be beside one before it; -1 when all can be. */
export function findCollision(paths: readonly string[]): number {
  const folds = paths.map(foldPath)
  return folds.findIndex((fold, i) => folds.slice(0, i).some((other) => collide(other, fold)))
}

function faultOfSizes(files: readonly VersionFile[]) {
  const large = files.find(({ size_bytes: bytes }) => bytes > MAX_FILE_BYTES)
  if (large) return `${large.path} has more than ${MAX_FILE_BYTES} bytes`
  if (files.length > MAX_FILES) return `The skill would have more than ${MAX_FILES} files`
  const bytes = files.reduce((sum, { size_bytes: each }) => sum + each, 0)
  if (bytes <= MAX_FILES_BYTES) return undefined
  return `The files of the skill would have more than ${MAX_FILES_BYTES} bytes together`
}

function isSame(a: VersionFile, b: VersionFile | undefined) {
  return b && a.sha256.equals(b.sha256) && a.mode === b.mode && a.content_type === b.content_type
}
