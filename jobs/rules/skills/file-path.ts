/**
 * Why no file of a skill can have this path, as a message without its subject; undefined when one can:
 * below the skill's folder, on every file system. Some of them write a path in another form (NFKC), in
 * which what looks like two dots is that; so it is looked at in that form.
 */
export function faultOfPath(path: string): string | undefined {
  const written = path.normalize('NFKC')
  if (Math.max(Buffer.byteLength(path), Buffer.byteLength(written)) > MAX_PATH_BYTES) {
    return `must have at most ${MAX_PATH_BYTES} bytes`
  }
  if (FORBIDDEN.test(path) || FORBIDDEN.test(written)) {
    return 'must have no control or format characters and none of \\ : * ? " < > |'
  }
  const segments = written.split('/')
  if (!segments.every(isSegment)) {
    return 'must be relative, of segments that are not empty and neither begin nor end with a dot or a space'
  }
  if (segments.some(isDevice)) return 'must not name a device of Windows'
  return foldPath(path) === SKILL_FILE ? 'must not be SKILL.md, which is rendered' : undefined
}

/**
 * One text for all paths that file systems which ignore case take for one. Upper case alone makes one of ß
 * and ss, and of σ and ς; but it leaves ẞ, of which lower case makes ß first.
 */
export function foldPath(path: string): string {
  const upper = path.normalize('NFKC').toLowerCase().toUpperCase()
  return upper.toLowerCase().normalize('NFKC')
}

/** Whether Windows gives the name to a device, whatever its ending and case, and so to no file. */
export function isDevice(name: string): boolean {
  return DEVICE.test(name)
}

/** Whether two files of these folded paths cannot be side by side: they are one, or one is a folder. */
export function collide(one: string, other: string): boolean {
  return one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`)
}

function isSegment(segment: string) {
  return /^[^. ]/.test(segment) && /[^. ]$/.test(segment)
}

const MAX_PATH_BYTES = 255
const SKILL_FILE = 'skill.md'
const FORBIDDEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\\:*?"<>|]/u
const DEVICE = /^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)/i
