/** Shows what the address in `src` streams, as the server wrote it, until the stream says that it has ended. */
export class LiveRegion extends HTMLElement {
  #source: EventSource | undefined

  connectedCallback() {
    const src = this.getAttribute('src')
    if (src === null) return
    const source = new EventSource(src)
    source.addEventListener('change', ({ data }: MessageEvent<string>) => this.#show(data))
    source.addEventListener('end', () => {
      source.close()
      // What stands beside the panel has changed, too.
      location.reload()
    })
    this.#source = source
  }

  disconnectedCallback() {
    this.#source?.close()
  }

  #show(markup: string) {
    const template = document.createElement('template')
    template.innerHTML = policy.createHTML(JSON.parse(markup) as string) as string
    update(this, template.content)
  }
}

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
