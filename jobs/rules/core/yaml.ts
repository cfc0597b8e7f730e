/** A value that YAML can say and JSON too. */
export type Yaml =
  string | number | boolean | null | readonly Yaml[] | { readonly [key: string]: Yaml }

/**
 * The lines of a value in block style. Texts are quoted; keys are written as they are, so they must be
 * plain words.
 */
export function yamlLines(value: Yaml): string[] {
  if (isList(value)) return value.flatMap(listItem)
  if (typeof value !== 'object' || value === null) return [yamlText(value)]
  return Object.entries(value).flatMap(([key, member]) =>
    isBlock(member) ? [`${key}:`, ...indented(yamlLines(member))] : [`${key}: ${yamlText(member)}`],
  )
}

/** JSON is YAML, but for the characters that YAML does not print or takes for line breaks. */
export function yamlText(value: unknown) {
  return JSON.stringify(value).replace(
    /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function listItem(item: Yaml) {
  const [first = '', ...others] = isBlock(item) ? yamlLines(item) : [yamlText(item)]
  return [`- ${first}`, ...indented(others)]
}

function isBlock(value: Yaml) {
  return typeof value === 'object' && value !== null && Object.keys(value).length > 0
}

function isList(value: Yaml): value is readonly Yaml[] {
  return Array.isArray(value)
}

function indented(lines: readonly string[]) {
  return lines.map((line) => `  ${line}`)
}
