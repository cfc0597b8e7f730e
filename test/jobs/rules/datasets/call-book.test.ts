import t from 'tap'
import { openCallBook } from '../../../../jobs/rules/datasets/call-book.ts'

t.test('a call is answered once', async (t) => {
  function open(...given: [id: string | undefined, name: string][]) {
    const calls = openCallBook()
    for (const [id, name] of given)
      calls.open({ ...(id !== undefined && { id }), function: { name, arguments: '{}' } })
    return (id?: string, name?: string) => calls.answer(id, name)?.id
  }

  t.test('by its id, by its name, or as the first that waits', async (t) => {
    const answer = open(['x', 'find'], [undefined, 'look'], ['x', 'find'], [undefined, 'look'])
    t.equal(answer(undefined, 'look'), 'call_2')
    t.equal(answer('x'), 'call_1')
    t.equal(answer(), 'call_3')
    t.equal(answer('x'), undefined)
    t.equal(answer(undefined, 'find'), undefined)
    t.equal(answer(undefined, 'other'), undefined)
    t.equal(answer(), 'call_4')
    t.equal(answer(), undefined)
  })

  t.test('in a long conversation as fast as in a short one', async (t) => {
    const count = 100_000
    const indexes = Array.from({ length: count }, (_, i) => i)
    const byId = open(...indexes.map((i) => [`id_${i}`, 'find'] as [string, string]))
    const byName = open(...indexes.map((i) => [undefined, `tool_${i}`] as [undefined, string]))
    for (const i of indexes.toReversed()) {
      if (byId(`id_${i}`) !== `call_${i + 1}`) t.fail(`call ${i} by its id`)
      if (byName(undefined, `tool_${i}`) !== `call_${i + 1}`) t.fail(`call ${i} by its name`)
    }
    t.equal(byId(undefined, 'find'), undefined)
    t.equal(byName(), undefined)
  })
})
