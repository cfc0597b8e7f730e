/** Whether an `If-None-Match` header names the entity tag; tags are compared weakly (RFC 9110). */
export function matchesTag(header: string | undefined, tag: string) {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some((one) => one.trim().replace(/^W\//, '') === tag)
}
