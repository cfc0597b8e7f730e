/**
 * The family a model belongs to: its name without the words and dates that distinguish the members of a
 * family apart. `gpt-4o-mini-2024-07-18` and `gpt-4o` are of one family.
 */
export function modelFamily(model: string): string {
  return strip(
    model.toLowerCase(),
    /[-@:](mini|latest|preview|turbo|\d{4}-\d\d-\d\d|\d{3,4}|\d{6}|\d{8})$/,
  )
}

/** Whether a provider that was asked for one name may have answered under the other: dates differ only. */
export function isSameModel(a: string, b: string): boolean {
  return undated(a) === undated(b)
}

function undated(model: string) {
  const name = model.toLowerCase().slice(model.lastIndexOf('/') + 1)
  return strip(name, /[-@:](latest|\d{4}-\d\d-\d\d|\d{3,4}|\d{6}|\d{8})$/)
}

/** Takes the suffix away as often as it is there. */
function strip(name: string, suffix: RegExp): string {
  const rest = name.replace(suffix, '')
  return rest === name || rest === '' ? name : strip(rest, suffix)
}
