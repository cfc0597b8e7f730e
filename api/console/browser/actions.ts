/**
 * What buttons and forms do. `data-send="POST /path"` sends a request, with the fields of the form or the
 * JSON of `data-body`, of which `{name}` in the path takes a member; `data-confirm` asks first; `data-then`
 * names the page that is shown afterwards, where `{name}` stands for a member of the answer, and `{name.inner}`
 * for one of that; `data-show` names a dialog that shows the answer instead, each member in the element that
 * names it in `data-member`. What has `data-secure` is sent only where the browser keeps the cookie of the answer.
 * `data-copy` copies the text beside the button; `data-open` opens the dialog of that id, and `data-close` closes
 * the one around it. A field with `data-submit` sends its form when it changes.
 */
export function bindActions(root: Document) {
  root.addEventListener('click', (event) => {
    const button = (event.target as Element).closest('button')
    if (!button) return
    if (button.dataset['send'] !== undefined) void send(button, bodyOf(button))
    if ('copy' in button.dataset) void copy(button)
    const { open } = button.dataset
    if (open !== undefined) root.querySelector<HTMLDialogElement>(`dialog#${open}`)?.showModal()
    if ('close' in button.dataset) button.closest('dialog')?.close()
  })
  root.addEventListener('submit', (event) => {
    const form = event.target as HTMLFormElement
    if (form.dataset['send'] === undefined) return
    event.preventDefault()
    void send(form, fieldsOf(form))
  })
  root.addEventListener('change', (event) => {
    const field = event.target as HTMLInputElement
    if ('submit' in field.dataset) field.form?.requestSubmit()
  })
}

async function send(element: HTMLElement, body: object | undefined) {
  const { send = '', then, show, confirm } = element.dataset
  if (element.hasAttribute('aria-busy')) return
  if ('secure' in element.dataset && !window.isSecureContext) return tell(element, INSECURE)
  if (confirm !== undefined && !window.confirm(confirm)) return
  const [method = 'POST', template = ''] = send.split(' ')
  const { path, sent } = addressed(template, body)
  element.setAttribute('aria-busy', 'true')
  try {
    const answer = await fetch(path, {
      method,
      // The page that follows shows how long work goes on.
      headers: {
        'Content-Type': 'application/json',
        ...(then !== undefined && { Prefer: 'respond-async' }),
      },
      ...((method !== 'DELETE' || body) && { body: JSON.stringify(sent) }),
    })
    const told = (await answer.json().catch(() => ({}))) as Told
    // Busy until the page is left, so that nothing is sent twice.
    if (answer.ok && show === undefined) return leave(then, told)
    if (answer.ok && show !== undefined) reveal(element, show, told)
    else tell(element, refusalOf(told, answer.status))
  } catch {
    tell(element, 'The service could not be reached')
  }
  element.removeAttribute('aria-busy')
}

/** A member of the body that the path names as `{name}` stands there, and is not sent besides. */
function addressed(template: string, body: object = {}) {
  const sent: Record<string, unknown> = { ...body }
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = String(sent[name])
    delete sent[name]
    return encodeURIComponent(value)
  })
  return { path, sent }
}

/**
 * Shows the next page, or this one anew. What was accepted and could not be read back is known by its job alone,
 * whose page is shown then.
 */
export function leave(then: string | undefined, answer: Told) {
  if (then === undefined) return location.reload()
  const isTold = [...then.matchAll(MEMBER)].every(
    ([, path = '']) => memberOf(answer, path) !== undefined,
  )
  const page = isTold || answer['job_id'] === undefined ? then : '/console/jobs/{job_id}'
  location.assign(
    page.replace(MEMBER, (_, path: string) => encodeURIComponent(String(memberOf(answer, path)))),
  )
}

function memberOf(answer: Told, path: string) {
  return path.split('.').reduce<unknown>((of, name) => (of as Told | undefined)?.[name], answer)
}

/** Shows an answer that cannot be had again; the page is shown anew when somebody closes it. */
function reveal(element: HTMLElement, id: string, answer: Told) {
  const dialog = document.querySelector<HTMLDialogElement>(`dialog#${id}`)
  for (const place of dialog?.querySelectorAll<HTMLElement>('[data-member]') ?? []) {
    place.textContent = String(answer[place.dataset['member'] ?? ''])
  }
  element.closest('dialog')?.close()
  dialog?.addEventListener('close', () => location.reload())
  dialog?.showModal()
}

/**
 * The fields that have a value. A field's `data-type` says what it is written as: `json`, `number`, `list` for
 * words between commas, `lines` for the lines that are not empty, or `each` for the list of all fields of the
 * name that are checked; lists of one name make one. The field `a.b` is the member `b` of `a`, and `a.0.b` that
 * of an item of the list `a`; items without a value are left out.
 */
function fieldsOf(form: HTMLFormElement) {
  const body: Record<string, unknown> = bodyOf(form) ?? {}
  // Those of the form that stand elsewhere, too.
  const fields = [...form.elements] as HTMLInputElement[]
  for (const { name, dataset } of fields) if (dataset['type'] === 'each') body[name] = []
  for (const [name, value] of new FormData(form)) {
    if (value === '' || typeof value !== 'string') continue
    const type = fields.find((field) => field.name === name)?.dataset['type']
    if (type === 'each') (body[name] as string[]).push(value)
    else if (type === 'lines') body[name] = value.split(/\r?\n/).filter((line) => line !== '')
    else if (type === 'list') {
      const items = value.split(',').map((part) => part.trim())
      body[name] = [...((body[name] as string[] | undefined) ?? []), ...items]
    } else if (type === 'json') body[name] = JSON.parse(value)
    else body[name] = type === 'number' ? Number(value) : value
  }
  return nested(body)
}

function nested(fields: Readonly<Record<string, unknown>>) {
  const body: Record<string, unknown> = {}
  const lists: Record<string, Record<string, object>> = {}
  for (const [name, value] of Object.entries(fields)) {
    const [member = '', inner, ofItem] = name.split('.')
    if (inner === undefined) body[member] = value
    else if (ofItem === undefined) {
      body[member] = { ...(body[member] as object | undefined), [inner]: value }
    } else {
      const items = (lists[member] ??= {})
      items[inner] = { ...items[inner], [ofItem]: value }
    }
  }
  for (const [member, items] of Object.entries(lists)) body[member] = Object.values(items)
  return body
}

function bodyOf(element: HTMLElement) {
  const { body } = element.dataset
  return body === undefined ? undefined : (JSON.parse(body) as Record<string, unknown>)
}

/** Where the browser does not let the page copy, the text is selected for who does so. */
async function copy(button: HTMLButtonElement) {
  const place = button.parentElement?.querySelector('pre, code')
  if (!place) return
  const said = button.textContent
  try {
    await navigator.clipboard.writeText(place.textContent)
    button.textContent = 'Copied'
  } catch {
    getSelection()?.selectAllChildren(place)
    button.textContent = 'Selected'
  }
  setTimeout(() => (button.textContent = said), 1500)
}

/** What an answer says was wrong. */
export function refusalOf({ detail }: Told, status: number) {
  if (typeof detail === 'string') return detail
  const message = (detail as { message?: unknown } | undefined)?.message
  return typeof message === 'string' ? message : `The service answered ${status}`
}

/** Says what went wrong: in the form's own place, else at the edge of the page. */
export function tell(element: Element, text: string) {
  const place =
    element.querySelector('[role=alert]') ?? document.querySelector('#alert') ?? addPlace()
  place.textContent = text
}

function addPlace() {
  const place = document.createElement('p')
  place.id = 'alert'
  place.className = 'toast'
  place.setAttribute('role', 'alert')
  document.body.append(place)
  return place
}

/** A member of an answer, as `data-then` names it. */
const MEMBER = /\{([\w.]+)\}/g
const INSECURE = 'Signing in needs HTTPS, or an address of this machine such as 127.0.0.1'

type Told = Readonly<Record<string, unknown>>
