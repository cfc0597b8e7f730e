/** Something outside the program is not as it must be; the message says so in sentences for people. */
export class OperatorError extends Error {}

export function noOrganization(id: string) {
  return new OperatorError(`There is no organization ${id}.`)
}
