import {
  BACKSLASH,
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COMMA,
  isSpace,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from './json-bytes.ts'

/** An item of a list that is left as it came. */
export class UnparsedJson {
  readonly bytes: Buffer
  constructor(bytes: Buffer) {
    this.bytes = bytes
  }
}

/** A list of which the items are left as they came. */
export interface ListApart {
  readonly name: string
  readonly max: number
}

/**
 * What JSON.parse makes of a text, a piece of about `PIECE_BYTES` at a time: it yields after each, so that
 * the caller can do other things between them. Only a single text or number is never divided.
 * @param bytes well-formed JSON
 * @param apart the list of this name in the outermost object, or the outermost list itself, gets its items
 * as `UnparsedJson`, one more than `max` at most. Of what is beside it in the object, members of up to
 * `BESIDE_BYTES` are kept. Undefined for none
 */
export function* parseInPieces(bytes: Buffer, apart?: ListApart): Generator<void, unknown> {
  // It would be one piece, without a search for its end.
  if (!apart && bytes.length <= PIECE_BYTES) return JSON.parse(bytes.toString())
  const open: Container[] = []
  let root: { value: unknown } | undefined
  /** Where begins what no piece has been made of. */
  let pending = 0

  /** Gives each open container its value, with what is complete in it. */
  function cut() {
    for (const [level, container] of open.entries()) {
      if (!container.value) {
        container.value = container.isList ? [] : {}
        const parent = open[level - 1]
        if (parent?.value) attach(parent as Built, bytes, container)
        else root = { value: container.value }
      }
      if (!apart) take(container as Built, bytes, container.child - 1)
      container.from = container.child
    }
  }

  /** Keeps the last member before an offset, beside a list whose items are apart. */
  function keepBeside(container: Container, to: number) {
    if (!apart || open.length > 1 || container.isList || to - container.child > BESIDE_BYTES) return
    cut()
    const { [apart.name]: _, ...beside } = JSON.parse(
      `{${bytes.toString('utf8', container.child, to)}}`,
    ) as Record<string, unknown>
    for (const name in beside) put(container.value as Record<string, unknown>, name, beside[name])
  }

  for (let i = 0; i < bytes.length; i++) {
    const byte = bytes[i] as number
    const top = open.at(-1)
    switch (byte) {
      case QUOTE:
        i = endOfText(bytes, i + 1)
        break
      case OPEN_BRACE:
      case OPEN_BRACKET: {
        const isList = byte === OPEN_BRACKET
        const container = { isList, at: i, from: i + 1, child: i + 1, isApart: false }
        open.push(container)
        if (!apart || !isList || !isNamed(open, bytes, apart.name)) break
        cut()
        container.isApart = true
        break
      }
      case COMMA:
        if (!top) break
        if (top.isApart) takeApart(top as Built, bytes, i, apart?.max)
        else if (top.from < 0) top.from = i + 1
        keepBeside(top, i)
        top.child = i + 1
        if (i - pending < PIECE_BYTES) break
        pending = i
        if (!apart) cut()
        yield
        break
      case CLOSE_BRACE:
      case CLOSE_BRACKET: {
        if (top) keepBeside(top, i)
        open.pop()
        if (!top?.value) break
        if (top.isApart) takeApart(top as Built, bytes, i, apart?.max)
        else if (!apart) take(top as Built, bytes, i)
        const parent = open.at(-1)
        if (parent) parent.from = TAKEN
      }
    }
  }
  if (root) return root.value
  return !apart ? JSON.parse(bytes.toString()) : {}
}

/** Whether the innermost list is the outermost value, or the member of it that has this name. */
function isNamed(open: readonly Container[], bytes: Buffer, name: string) {
  const [outer, list] = open
  if (open.length === 1 || !outer || !list) return open.length === 1
  return open.length === 2 && !outer.isList && nameOf(bytes, outer, list) === name
}

/** The name that a container has in the object around it. */
function nameOf(bytes: Buffer, parent: Container, { at }: Container) {
  const [name] = Object.keys(JSON.parse(`{${bytes.toString('utf8', parent.child, at)}0}`) as object)
  return name as string
}

function attach(parent: Built, bytes: Buffer, child: Container) {
  if (Array.isArray(parent.value)) parent.value.push(child.value)
  else put(parent.value, nameOf(bytes, parent, child), child.value)
}

/** Takes the children that lie before an offset. */
function take(container: Built, bytes: Buffer, to: number) {
  const { from, value } = container
  if (from === TAKEN || from >= to) return
  const text = bytes.toString('utf8', from, to)
  if (Array.isArray(value)) {
    for (const item of JSON.parse(`[${text}]`) as unknown[]) value.push(item)
  } else {
    const members = JSON.parse(`{${text}}`) as Record<string, unknown>
    for (const name in members) put(value, name, members[name])
  }
}

/** Sets a member as JSON.parse does: one that is named `__proto__` is a member like others. */
function put(object: Record<string, unknown>, name: string, value: unknown) {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { ...OWN, value })
}

const OWN = { configurable: true, enumerable: true, writable: true }

function takeApart({ value, child }: Built, bytes: Buffer, to: number, max = Infinity) {
  const items = value as unknown[]
  let from = child
  while (from < to && isSpace(bytes[from])) from++
  if (from < to && items.length <= max) items.push(new UnparsedJson(bytes.subarray(from, to)))
}

/** The place of the quote that ends a text. */
function endOfText(bytes: Buffer, from: number) {
  let i = from
  for (; bytes[i] !== QUOTE; i++) if (bytes[i] === BACKSLASH) i++
  return i
}

/** About a tenth of a millisecond. */
const PIECE_BYTES = 64 << 10
const BESIDE_BYTES = 1024
/** There is nothing to take before the next child begins. */
const TAKEN = -1

/** A list or object whose end has not come yet. */
interface Container {
  readonly isList: boolean
  readonly at: number
  /** Where the children begin that were not taken, or `TAKEN`. */
  from: number
  /** Where the child begins that is being read. */
  child: number
  /** Its items are left as they came. */
  isApart: boolean
  /** Undefined until a piece is taken of it: a small container is taken with what is around it. */
  value?: unknown[] | Record<string, unknown>
}
type Built = Container & Required<Pick<Container, 'value'>>
