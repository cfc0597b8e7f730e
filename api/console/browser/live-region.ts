/** Shows what the address in `src` streams, as the server wrote it, until the stream says that it has ended. */
export class LiveRegion extends HTMLElement {
  #source: EventSource | undefined

  connectedCallback() {
    document.addEventListener('visibilitychange', this.#watch)
    this.#watch()
  }

  disconnectedCallback() {
    document.removeEventListener('visibilitychange', this.#watch)
    this.#source?.close()
  }

  /** A browser has few connections to a service, so that pages in the background give theirs back. */
  readonly #watch = () => {
    this.#source?.close()
    const src = this.getAttribute('src')
    if (src !== null && !document.hidden) this.#open(src)
  }

  #open(src: string) {
    const source = new EventSource(src)
    source.addEventListener('change', ({ data }: MessageEvent<string>) => this.#show(data))
    source.addEventListener('end', () => {
      source.close()
      this.removeAttribute('src')
      // What stands beside the panel has changed, too.
      reload()
    })
    source.addEventListener('error', () => {
      // A refusal ends the stream for good, while after a lost connection the browser tries again.
      if (source.readyState === EventSource.CLOSED) setTimeout(reload, REFUSED_MS)
    })
    this.#source = source
  }

  #show(markup: string) {
    const template = document.createElement('template')
    template.innerHTML = policy.createHTML(JSON.parse(markup) as string) as string
    update(this, template.content)
  }
}

/** Shows the page anew once nobody is writing or sending on it: what is typed would be lost. */
function reload() {
  if (document.querySelector(IN_USE)) setTimeout(reload, IN_USE_MS)
  else location.reload()
}

const IN_USE = 'dialog[open], form:focus-within, [aria-busy]'
const IN_USE_MS = 500
const REFUSED_MS = 10_000

/** Changes what differs and no more, so that focus and animations stay where nothing changed. */
function update(shown: ParentNode & Node, wanted: ParentNode & Node) {
  const before = [...shown.childNodes]
  const after = [...wanted.childNodes]
  for (const [i, node] of after.entries()) {
    const old = before[i]
    if (!old) shown.appendChild(node)
    else if (old instanceof Element && node instanceof Element && old.tagName === node.tagName) {
      updateAttributes(old, node)
      update(old, node)
    } else if (old instanceof Text && node instanceof Text) {
      if (old.data !== node.data) old.data = node.data
    } else old.replaceWith(node)
  }
  for (const old of before.slice(after.length)) old.remove()
}

function updateAttributes(shown: Element, wanted: Element) {
  for (const name of shown.getAttributeNames()) {
    // Whoever opened a list of details keeps it open.
    if (!wanted.hasAttribute(name) && name !== 'open') shown.removeAttribute(name)
  }
  for (const { name, value } of wanted.attributes) {
    if (shown.getAttribute(name) !== value) shown.setAttribute(name, value)
  }
}

/** The one place that turns text into markup. The text is the server's own. */
const createHTML = (text: string) => text
const policy = (window as Window & { trustedTypes?: TrustedTypes }).trustedTypes?.createPolicy(
  'console',
  {
    createHTML,
  },
) ?? { createHTML }

interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createHTML(text: string): string },
  ): { createHTML(text: string): unknown }
}
