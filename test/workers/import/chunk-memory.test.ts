import t from 'tap'
import { giveBackMemory, takeMemory } from '../../../workers/import/chunk-memory.ts'

t.test('memory of a chunk is used again, where it is of the usual size', async (t) => {
  const memory = takeMemory(1000)
  const large = takeMemory(50_000_000)
  t.ok(large.byteLength >= 50_000_000)
  giveBackMemory(large)
  giveBackMemory(memory)
  t.equal(takeMemory(4_000_000), memory)
  t.not(takeMemory(4_000_000), memory, 'only once')
  t.not(takeMemory(50_000_000), large)
})

t.test('only what a few chunks need is kept', async (t) => {
  const given = Array.from({ length: 10 }, () => takeMemory(1))
  for (const memory of given) giveBackMemory(memory)
  const again = new Set(Array.from({ length: 10 }, () => takeMemory(1)))
  t.equal(again.intersection(new Set(given)).size, 4)
})
