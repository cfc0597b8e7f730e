import { leave, refusalOf, tell } from './actions.ts'

/**
 * A form with `data-upload="/path"` sends the file that was chosen or dropped on it as the body of a POST,
 * its other fields in the query. The browser reads the file while it sends it. `data-then` is that of actions.
 */
export function bindUploads(root: Document) {
  for (const form of root.querySelectorAll<HTMLFormElement>('form[data-upload]')) bind(form)
}

function bind(form: HTMLFormElement) {
  const input = form.querySelector<HTMLInputElement>('input[type=file]')
  const place = input?.closest('label')
  if (!input || !place) return
  const show = () => {
    const [file] = input.files ?? []
    const output = form.querySelector('output')
    if (output) output.value = file ? `${file.name} · ${sizeOf(file)}` : ''
  }
  input.addEventListener('change', show)
  for (const type of ['dragover', 'dragleave', 'drop'] as const) {
    place.addEventListener(type, (event) => {
      event.preventDefault()
      place.classList.toggle('over', type === 'dragover')
      if (type !== 'drop' || !event.dataTransfer?.files.length) return
      input.files = event.dataTransfer.files
      show()
    })
  }
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    const [file] = input.files ?? []
    if (file && !form.hasAttribute('aria-busy')) upload(form, file)
  })
}

function sizeOf({ size }: File) {
  return size < 1e6 ? `${Math.ceil(size / 1e3)} kB` : `${(size / 1e6).toFixed(1)} MB`
}

/** By XMLHttpRequest, because fetch does not tell how much was sent. */
function upload(form: HTMLFormElement, file: File) {
  const fields = [...new FormData(form)].filter(
    (field): field is [string, string] => typeof field[1] === 'string' && field[1] !== '',
  )
  const request = new XMLHttpRequest()
  request.open('POST', `${form.dataset['upload']}?${new URLSearchParams(fields)}`)
  request.setRequestHeader('Content-Type', 'application/octet-stream')
  request.setRequestHeader('Prefer', 'respond-async')
  request.responseType = 'json'
  const progress = form.querySelector('progress')
  if (progress) progress.hidden = false
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    if (progress) progress.value = total > 0 ? loaded / total : 0
  })
  request.addEventListener('loadend', () => {
    const { status } = request
    const answer = (request.response ?? {}) as Readonly<Record<string, unknown>>
    if (progress) progress.hidden = true
    // Busy until the page is left, so that nothing is sent twice.
    if (status >= 200 && status < 300) return leave(form.dataset['then'], answer)
    form.removeAttribute('aria-busy')
    tell(form, status === 0 ? 'The file could not be sent' : refusalOf(answer, status))
  })
  form.setAttribute('aria-busy', 'true')
  request.send(file)
}
