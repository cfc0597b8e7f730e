/** Whether Postgres can hold a value that is written so by JSON.stringify: without NUL and lone surrogates. */
export function isStorableJson(json: string): boolean {
  return !UNSTORABLE.test(json)
}

/** An escape of JSON, after no or an even number of backslashes, for NUL or a lone surrogate. */
const UNSTORABLE = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f])/

/** Whether a value is a text that the database can hold: one without NUL and lone surrogates. */
export function isStorableText(value: unknown): value is string {
  return typeof value === 'string' && value.isWellFormed() && !value.includes('\0')
}
