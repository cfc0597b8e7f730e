import t from 'tap'
import { freeStartupMemory } from '../../ops/startup-memory.ts'

t.test('what was used before is given back to the system', async (t) => {
  const held = makeObjects()
  t.ok(process.memoryUsage().heapUsed > held, 'it is used')
  const { heapTotal: before } = process.memoryUsage()
  freeStartupMemory()
  t.ok(before - process.memoryUsage().heapTotal > held / 2, 'most of the heap is gone')
})

t.test('nobody else can collect', async (t) => {
  freeStartupMemory()
  t.notOk('gc' in globalThis)
})

/** Returns their bytes, at least. */
function makeObjects() {
  const objects = Array.from({ length: 1_000_000 }, (_, number) => ({ number, next: number + 1 }))
  return objects.length * 40
}
