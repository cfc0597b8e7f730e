/** Whether a text is written as a UUID, of any version and in either case. */
export function isUuid(text: string) {
  return UUID.test(text)
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
