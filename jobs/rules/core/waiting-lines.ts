/** Lines of what waits, one a key: who came first is taken first, in the same time however many wait. */
export function openLines<Key, Item>() {
  const lines = new Map<Key, { readonly items: Item[]; next: number }>()
  return {
    join(key: Key, item: Item) {
      const line = lines.get(key)
      if (line) line.items.push(item)
      else lines.set(key, { items: [item], next: 0 })
    },
    take(key: Key): Item | undefined {
      const line = lines.get(key)
      return line && line.next < line.items.length ? line.items[line.next++] : undefined
    },
  }
}
