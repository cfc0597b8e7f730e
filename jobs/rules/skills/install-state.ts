/** How the copy of a skill that an installation holds stands to what is stored. */
export const INSTALL_STATES = [
  'in_sync',
  'local_ahead',
  'remote_ahead',
  'conflict',
  'local_only',
  'unknown',
] as const
export type InstallState = (typeof INSTALL_STATES)[number]

/**
 * @param newest number of the newest version; null where there is no such skill
 * @param held number of the newest version whose body is the one held; null where none has it
 * @param base number of the stored version that the installation held last; null where it never told
 */
export function installState(
  newest: number | null,
  held: number | null,
  base: number | null,
): InstallState {
  if (newest === null) return 'local_only'
  if (held !== null) return held === newest ? 'in_sync' : 'remote_ahead'
  // A text of its own: it was changed there, and perhaps here since.
  if (base === null) return 'unknown'
  return base === newest ? 'local_ahead' : 'conflict'
}
