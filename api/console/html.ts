/** Markup that may be sent as it is. Only `html` and `attributes` make it; other texts are escaped. */
export class Markup {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** What may stand in a template: texts are escaped, lists are joined, what is absent leaves nothing. */
export type Part = Markup | string | number | null | undefined | false | readonly Part[]

/** Writes markup. Attributes must be quoted, so that escaping is enough in them, too. */
export function html(texts: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  const [first = '', ...others] = withoutIndents(texts)
  let written = first
  for (const [i, part] of parts.entries()) written += write(part) + (others[i] ?? '')
  return new Markup(written)
}

/** The indents of the source would be a quarter of a long page. Each template is read once. */
function withoutIndents(texts: TemplateStringsArray): readonly string[] {
  let known = tightened.get(texts)
  if (!known) tightened.set(texts, (known = texts.map((text) => text.replace(/\n\s+/g, '\n'))))
  return known
}
const tightened = new WeakMap<TemplateStringsArray, readonly string[]>()

/** Attributes by name: `true` writes the bare name, what is absent or `false` nothing. */
export function attributes(
  given: Readonly<Record<string, string | number | boolean | null | undefined>>,
): Markup {
  let written = ''
  for (const [name, value] of Object.entries(given)) {
    if (value === null || value === undefined || value === false) continue
    written += value === true ? ` ${name}` : ` ${name}="${escape(String(value))}"`
  }
  return new Markup(written)
}

function write(part: Part): string {
  if (part instanceof Markup) return part.text
  if (part === null || part === undefined || part === false) return ''
  if (typeof part === 'string') return escape(part)
  if (typeof part === 'number') return String(part)
  return part.map(write).join('')
}

function escape(text: string) {
  return text.replace(/[&<>"']/g, (sign) => ESCAPES[sign] ?? '')
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
