import { chmodSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'

/** Folders and files that this process and its children make can be used by their OS user alone. */
export function keepFilesPrivate() {
  process.umask(0o077)
}

/**
 * Makes a folder and its parents. Those that root makes can be passed through, and not listed: the OS
 * user that runs the embedded database has its folder in there.
 * @param folder an absolute path
 */
export function makePassable(folder: string) {
  const first = mkdirSync(folder, { recursive: true })
  if (first === undefined || process.getuid?.() !== 0) return
  for (let made = folder; made.startsWith(first); made = dirname(made)) chmodSync(made, 0o711)
}
