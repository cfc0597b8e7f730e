import t from 'tap'
import { gather } from '../../jobs/gather.ts'

t.test('gather', async (t) => {
  t.test('takes what arrives during a call together into the next one', async (t) => {
    const calls: number[][] = []
    const double = gather(async (items: number[]) => {
      calls.push(items)
      await new Promise((resolve) => setImmediate(resolve))
      return items.map((n) => n * 2)
    }, 3)
    const first = double(1)
    await Promise.resolve()
    const results = await Promise.all([first, ...[2, 3, 4, 5, 6].map(double)])
    t.same(results, [2, 4, 6, 8, 10, 12])
    t.same(calls, [[1], [2, 3, 4], [5, 6]])
  })

  t.test('takes together what is given at once, and keeps groups apart', async (t) => {
    const calls: string[][] = []
    const work = gather(
      async (items: string[]) => {
        calls.push(items)
        return items
      },
      9,
      ([group]) => group as string,
    )
    await Promise.all(['a1', 'b1', 'a2', 'b2'].map(work))
    t.same(calls, [
      ['a1', 'a2'],
      ['b1', 'b2'],
    ])
  })

  t.test('rejects the items of a failed call and goes on with the others', async (t) => {
    const work = gather(async (items: string[]) => {
      if (items.includes('bad')) throw new Error('no')
      return items
    }, 1)
    const [a, b, c] = await Promise.allSettled([work('a'), work('bad'), work('c')])
    t.match(a, { status: 'fulfilled', value: 'a' })
    t.match(b, { status: 'rejected', reason: { message: 'no' } })
    t.match(c, { status: 'fulfilled', value: 'c' })
  })
})
