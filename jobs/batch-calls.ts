import { AsyncLocalStorage } from 'node:async_hooks'

/**
 * Turns a function of many items into one of one item: items of a group that arrive while a call for it
 * is under way go together into the next one, `max` at most. Alone, an item waits for nothing. When a
 * call fails, each item of it is rejected with the same error. Every process has groups of its own; the
 * first item of a group brings the context for all of it. A call is a part of the work
 * (`current-work.ts`) of its first item.
 */
export function batchCalls<Context extends object, Item, Result>(
  work: (context: Context, items: Item[]) => Promise<readonly Result[]>,
  max: number,
  {
    groupOf = () => '',
    processOf = (context) => context,
    weights = { of: () => 0, max: Infinity },
    beside = { calls: 1, keyOf: () => '' },
  }: Grouping<Context, Item> = {},
): (context: Context, item: Item) => Promise<Result> {
  const processes = new WeakMap<object, Map<string, Group<Context, Item, Result>>>()

  function groupsOf(context: Context) {
    const process = processOf(context)
    const groups = processes.get(process) ?? new Map<string, Group<Context, Item, Result>>()
    processes.set(process, groups)
    return groups
  }

  /** Begins the calls that are due, and forgets a group that nothing is left of. */
  function begin(group: Group<Context, Item, Result>) {
    while (group.waiting.length > 0 && group.calls < beside.calls) {
      const { taken, left, isFull } = choose(group)
      if (group.calls > 0 && !isFull) return
      group.waiting = left
      void call(group, taken)
    }
    if (group.calls === 0 && !group.isAwaited) groupsOf(group.context).delete(group.name)
  }

  /** Those of a group that go into its next call, and whether more are left than it takes. */
  function choose({ waiting, busyKeys }: Group<Context, Item, Result>) {
    const taken: Waiting<Item, Result>[] = []
    const left: Waiting<Item, Result>[] = []
    let weight = 0
    let isFull = false
    for (const each of waiting) {
      if (isFull || busyKeys.has(beside.keyOf(each.item))) {
        left.push(each)
        continue
      }
      weight += weights.of(each.item)
      isFull = taken.length > 0 && (taken.length === max || weight > weights.max)
      const chosen = isFull ? left : taken
      chosen.push(each)
    }
    return { taken, left, isFull }
  }

  async function call(
    group: Group<Context, Item, Result>,
    taken: readonly Waiting<Item, Result>[],
  ) {
    const items = taken.map(({ item }) => item)
    const keys = items.map(beside.keyOf)
    group.calls++
    for (const key of keys) group.busyKeys.add(key)
    try {
      const results = (await taken[0]?.asCalled(() => work(group.context, items))) ?? []
      taken.forEach(({ resolve }, i) => resolve(results[i] as Result))
    } catch (error) {
      for (const { reject } of taken) reject(error)
    }
    group.calls--
    for (const key of keys) group.busyKeys.delete(key)
    begin(group)
  }

  return (context, item) =>
    new Promise((resolve, reject) => {
      const groups = groupsOf(context)
      const name = groupOf(item)
      const group = groups.get(name) ?? {
        context,
        name,
        waiting: [],
        calls: 0,
        busyKeys: new Set(),
      }
      groups.set(name, group)
      group.waiting.push({ item, asCalled: AsyncLocalStorage.snapshot(), resolve, reject })
      if (group.isAwaited) return
      group.isAwaited = true
      // So that what is given at once goes together from the first call on.
      queueMicrotask(() => {
        group.isAwaited = false
        begin(group)
      })
    })
}

interface Grouping<Context, Item> {
  /** What items must have in common to go together; default nothing. */
  readonly groupOf?: (item: Item) => string
  /** What all contexts of a process have in common; default the context itself. */
  readonly processOf?: (context: Context) => object
  /** Of the items of one call, which end it at `max` of them together, or after one; default none. */
  readonly weights?: Weights<Item>
  /** Default one call of a group at a time. */
  readonly beside?: Beside<Item>
}

interface Weights<Item> {
  readonly of: (item: Item) => number
  readonly max: number
}

interface Beside<Item> {
  /** Most calls of a group at a time. One begins beside another only when more items wait than it takes. */
  readonly calls: number
  /** Items that have the same key are worked on in the order in which they came. */
  readonly keyOf: (item: Item) => string
}

interface Group<Context, Item, Result> {
  readonly context: Context
  readonly name: string
  waiting: Waiting<Item, Result>[]
  /** Those under way. */
  calls: number
  /** Keys of what is worked on. */
  readonly busyKeys: Set<string>
  /** A look at what waits is due. */
  isAwaited?: boolean
}

interface Waiting<Item, Result> {
  readonly item: Item
  /** Runs a function in the asynchronous context of the caller. */
  readonly asCalled: <T>(work: () => T) => T
  readonly resolve: (result: Result) => void
  readonly reject: (error: unknown) => void
}
