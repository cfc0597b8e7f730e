import t from 'tap'
import { batchCalls } from '../../jobs/batch-calls.ts'
import { currentWork, workOn } from '../../jobs/current-work.ts'

t.test('calls answered together', async (t) => {
  t.test('takes what arrives during a call together into the next one', async (t) => {
    const double = batchCalls(async (calls: number[][], items: number[]) => {
      calls.push(items)
      await turn()
      return items.map((n) => n * 2)
    }, 3)
    const calls: number[][] = []
    const first = double(calls, 1)
    await Promise.resolve()
    const others = [2, 3, 4, 5, 6].map((n) => double(calls, n))
    t.same(await Promise.all([first, ...others]), [2, 4, 6, 8, 10, 12])
    t.same(calls, [[1], [2, 3, 4], [5, 6]])
  })

  t.test('takes together what is given at once, and keeps groups and contexts apart', async (t) => {
    const work = batchCalls(
      async (calls: string[][], items: string[]) => {
        calls.push(items)
        return items
      },
      9,
      { groupOf: ([group]) => group as string },
    )
    const [calls, others]: string[][][] = [[], []]
    const answers = ['a1', 'b1', 'a2', 'b2'].map((item) => work(calls as string[][], item))
    await Promise.all([...answers, work(others as string[][], 'a3')])
    t.same(calls, [
      ['a1', 'a2'],
      ['b1', 'b2'],
    ])
    t.same(others, [['a3']])
  })

  t.test('is a part of the work of its first item', async (t) => {
    const work = batchCalls(async (works: unknown[], items: string[]) => {
      await turn()
      works.push(currentWork().request_id)
      return items
    }, 2)
    const works: unknown[] = []
    const call = (id: string) => workOn({ request_id: id }, () => work(works, id))
    const first = call('a')
    await Promise.resolve()
    await Promise.all([first, ...['b', 'c', 'd'].map(call), work(works, 'nobody')])
    t.same(works, ['a', 'b', 'd'])
    t.same(currentWork(), {})
  })

  t.test('begins a call beside another only when more waits than it takes', async (t) => {
    const { calls, give, endOf } = openCalls({ calls: 2, keyOf: (item) => item })
    const given = give('a', 'b')
    await turn()
    t.same(calls, [['a', 'b']])
    given.push(...give('c', 'd'))
    await turn()
    t.same(calls, [['a', 'b']])
    given.push(...give('e', 'f', 'g', 'h'))
    await turn()
    t.same(calls.slice(1), [['c', 'd']])
    endOf('c')
    await turn()
    t.same(calls.slice(2), [['e', 'f']])
    endOf('a')
    await turn()
    t.same(calls.length, 3)
    endOf('e')
    await turn()
    t.same(calls.slice(3), [['g', 'h']])
    endOf('g')
    t.same(await Promise.all(given), ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'])
  })

  t.test('keeps the order of items that have the same key', async (t) => {
    const { calls, give, endOf } = openCalls({ calls: 2, keyOf: ([key]) => key as string })
    const given = give('a1', 'b1', 'a2', 'b2', 'c1', 'a3', 'd1', 'd2')
    await turn()
    t.same(calls, [
      ['a1', 'b1'],
      ['c1', 'd1'],
    ])
    endOf('a1')
    await turn()
    t.same(calls.slice(2), [['a2', 'b2']])
    endOf('a2')
    await turn()
    // No more are left than one call takes.
    t.same(calls.slice(3), [])
    endOf('c1')
    await turn()
    t.same(calls.slice(3), [['a3', 'd2']])
    endOf('a3')
    t.same(await Promise.all(given), ['a1', 'b1', 'a2', 'b2', 'c1', 'a3', 'd1', 'd2'])
  })

  t.test('rejects the items of a failed call and goes on with the others', async (t) => {
    const work = batchCalls(async (_: object, items: string[]) => {
      if (items.includes('bad')) throw new Error('no')
      return items
    }, 1)
    const context = {}
    const items = ['a', 'bad', 'c'].map((item) => work(context, item))
    const [a, b, c] = await Promise.allSettled(items)
    t.match(a, { status: 'fulfilled', value: 'a' })
    t.match(b, { status: 'rejected', reason: { message: 'no' } })
    t.match(c, { status: 'fulfilled', value: 'c' })
  })
})

/** Calls of two items that end when they are told to, by the first of their items. */
function openCalls(beside: { calls: number; keyOf: (item: string) => string }) {
  const ends = new Map<string, () => void>()
  const work = batchCalls(
    async (calls: string[][], items: string[]) => {
      calls.push(items)
      await new Promise<void>((resolve) => ends.set(items[0] as string, resolve))
      return items
    },
    2,
    { beside },
  )
  const calls: string[][] = []
  return {
    calls,
    give: (...items: string[]) => items.map((item) => work(calls, item)),
    endOf: (item: string) => ends.get(item)?.(),
  }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
