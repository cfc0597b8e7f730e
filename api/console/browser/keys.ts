/**
 * The keys that the list under `?` names, and those that links and buttons of the page name. They rest
 * while somebody writes: then Escape leaves the field, and Ctrl with Enter sends its form.
 */
export function bindKeys(root: Document) {
  let isGoing = false
  root.addEventListener('keydown', (event) => {
    const { key, target } = event
    if (target instanceof HTMLTextAreaElement) return write(event, target)
    if (event.ctrlKey || event.metaKey || event.altKey) return
    if (target instanceof Element && target.closest(BUSY)) return
    const place = isGoing ? linkOf(root, `g ${key}`) : linkOf(root, key)
    isGoing = key === 'g' && !isGoing
    if (place) {
      event.preventDefault()
      // Who holds a key means it once.
      if (!event.repeat) place.click()
      return
    }
    if (key === '/') {
      event.preventDefault()
      root.querySelector<HTMLInputElement>('input[type=search]')?.select()
    } else if (key === '?') root.querySelector<HTMLDialogElement>('#keys')?.showModal()
    else if (key === 'j' || key === 'k') move(root, key === 'j' ? 1 : -1)
    else if (key === 'x') boxOf(root.activeElement)?.click()
  })
}

/** Where keys have another meaning. */
const BUSY = 'input:not([type=checkbox]), select, textarea, dialog[open]'

function write({ key, ctrlKey, metaKey }: KeyboardEvent, field: HTMLTextAreaElement) {
  if (key === 'Enter' && (ctrlKey || metaKey)) field.form?.requestSubmit()
  // Within a dialog Escape closes it.
  else if (key === 'Escape' && !field.closest('dialog')) field.blur()
}

/** What a key stands for on this page: a link or a button that names it. */
function linkOf(root: Document, key: string) {
  return root.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)
}

/** Focus goes from row to row, on their links, so that Enter and screen readers work as everywhere. */
function move(root: Document, by: 1 | -1) {
  const links = [...root.querySelectorAll<HTMLElement>('[data-rows] [data-row]')]
  const row = rowOf(root.activeElement)
  const now = links.findIndex((link) => link === root.activeElement || (row && rowOf(link) === row))
  links[Math.min(links.length - 1, Math.max(0, now + by))]?.focus()
}

function rowOf(element: Element | null) {
  return element?.closest('[data-rows] tr')
}

/** What selects the row that has the focus. */
function boxOf(element: Element | null) {
  return rowOf(element)?.querySelector<HTMLInputElement>('input[type=checkbox]')
}
