import t from 'tap'
import { batchCalls } from '../../jobs/batch-calls.ts'
import { currentWork, workOn } from '../../jobs/current-work.ts'

t.test('calls answered together', async (t) => {
  t.test('takes what arrives during a call together into the next one', async (t) => {
    const double = batchCalls(async (calls: number[][], items: number[]) => {
      calls.push(items)
      await new Promise((resolve) => setImmediate(resolve))
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
      ([group]) => group as string,
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
      await new Promise((resolve) => setImmediate(resolve))
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
