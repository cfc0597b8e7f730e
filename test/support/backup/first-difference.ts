import { linesOf } from './backups.ts'

/** The first lines in which two backups differ, cut to where they do; undefined where none does. */
export function firstDifference(found: string, wanted: string) {
  if (found === wanted) return undefined
  const [a, b] = [linesOf(found), linesOf(wanted)]
  const line = a.findIndex((each, i) => each !== b[i])
  const [left = '', right = ''] = [a[line], b[line]]
  let at = 0
  while (at < left.length && left[at] === right[at]) at++
  const around = (text: string) =>
    `${text.slice(0, 60)} … ${text.slice(Math.max(at - 60, 0), at + 60)}`
  return { line: line + 1, of: [a.length, b.length], found: around(left), wanted: around(right) }
}
