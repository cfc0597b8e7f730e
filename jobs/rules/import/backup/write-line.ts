import type { Kind } from './kind.ts'
import type { Member } from './member.ts'

/** Of each member of a kind in its order, as the database gives it: times as dates, bytes as buffers. */
export type LineValues = readonly unknown[]

/** A line with its end. @param values of the members of the kind, which has no content */
export function lineOf(kind: Kind, values: LineValues): string {
  return `${openLine(kind, values)}}\n`
}

/** The text of a line up to its content, without a brace at its end. */
export function openLine({ name, members }: Kind, values: LineValues): string {
  let line = `{"kind":"${name}"`
  for (let i = 0; i < members.length; i++) {
    const member = members[i] as Member
    line += `,"${member.name}":${textOf(member, values[i])}`
  }
  return line
}

function textOf({ type }: Member, value: unknown): string {
  if (value === null) return 'null'
  if (type === 'time') return `"${(value as Date).toISOString()}"`
  if (type === 'bytes' || type === 'blob') return `"${(value as Buffer).toString('base64')}"`
  return JSON.stringify(value)
}
