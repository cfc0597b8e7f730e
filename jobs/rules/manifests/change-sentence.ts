import type { ChangeDetail, SurfaceChange } from './surface-change.ts'

/** What happened to a component, as a part of a sentence. */
export function describe({
  component_type,
  component_name,
  change_type,
  new_name,
  state,
}: SurfaceChange) {
  const what = `${spaced(component_type)} ${component_name}`
  const happened =
    state === 'doc_only' ? 'only documentation or version changed' : spaced(change_type)
  return `${what}: ${happened}${new_name === null ? '' : ` to ${new_name}`}`
}

/** A sentence for people: what happened, and the first of the details. */
export function explain(change: SurfaceChange) {
  const told = change.details.slice(0, TOLD).map(explainDetail)
  const more = change.details.length - told.length
  const details = [...told, ...(more > 0 ? [`${more} more`] : [])].join(', ')
  const sentence = `${describe(change)}${details && ` (${details})`}.`
  return sentence.charAt(0).toUpperCase() + sentence.slice(1)
}

function explainDetail({ change, role, path, from, to }: ChangeDetail) {
  if (change === 'text_share_changed') return `${Math.round(Number(to) * 1000) / 10} % of the text`
  const where = [role, path].filter(Boolean).join(' ')
  const values = from === undefined && to === undefined ? '' : ` from ${show(from)} to ${show(to)}`
  return `${where && `${where} `}${spaced(change)}${values}`
}

function show(value: ChangeDetail['from']) {
  return value === null || value === undefined ? 'none' : String(value)
}

function spaced(word: string) {
  return word.replaceAll('_', ' ')
}

const TOLD = 5
