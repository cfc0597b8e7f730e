import { setTimeout as delay } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import t from 'tap'
import {
  giveBackMemory,
  movedWith,
  openPacker,
  takeMemory,
} from '../../../workers/import/chunk-memory.ts'

const CHUNK = 4 << 20
const LARGE = 50_000_000

t.test('memory is used again, and there is only so much of it', async (t) => {
  t.equal(takeMemory(LARGE), undefined, 'more than one has')
  const taken = takeAll()
  t.equal(taken.length, 8)
  taken.forEach(giveBackMemory)
  t.equal(new Set([...taken, ...takeAll()]).size, 8, 'the same again')
  taken.forEach(giveBackMemory)
})

t.test('what is not given back is made anew once it is garbage', async (t) => {
  t.equal(takeAll().length, 8)
  t.equal(takeMemory(), undefined)
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('globalThis.gc') as () => void
  const again: SharedArrayBuffer[] = []
  for (let i = 0; i < 500 && again.length < 8; i++) {
    collect()
    again.push(...takeAll())
    await delay(1)
  }
  t.equal(again.length, 8)
  again.forEach(giveBackMemory)
})

t.test('texts are packed one after another, each time anew', async (t) => {
  const packer = openPacker()
  for (let i = 0; i < 2; i++) {
    const { bytes, ends } = packer.take()
    t.strictSame(read({ bytes, ends }), [])
    structuredClone(bytes, { transfer: movedWith(bytes) })
  }
  const text = Buffer.from('one')
  packer.add(text)
  text.fill('x')
  packer.add(Buffer.alloc(0))
  packer.add(Buffer.from('three'))
  const first = packer.take()
  packer.add(Buffer.from('four'))
  t.strictSame(read(first), ['one', '', 'three'])
  t.strictSame(read(packer.take()), ['four'])
})

t.test('texts that take more than the usual memory are packed as well', async (t) => {
  const packer = openPacker()
  const texts = ['a', 'b', 'c'].map((letter) => letter.repeat(CHUNK))
  for (const text of texts) packer.add(Buffer.from(text))
  const packed = packer.take()
  t.ok(packed.bytes.buffer instanceof ArrayBuffer)
  t.ok(read(packed).every((text, i) => text === texts[i]))
})

t.test('texts are packed while all memory is in use', async (t) => {
  const taken = takeAll()
  const packer = openPacker()
  packer.add(Buffer.from('text'))
  const packed = packer.take()
  t.strictSame(read(packed), ['text'])
  t.strictSame(movedWith(packed.bytes, undefined), [packed.bytes.buffer])
  taken.forEach(giveBackMemory)
  packer.add(Buffer.from('text'))
  t.strictSame(movedWith(packer.take().bytes), [], 'shared memory is not moved')
})

function takeAll() {
  const taken: SharedArrayBuffer[] = []
  for (let memory; (memory = takeMemory());) taken.push(memory)
  return taken
}

function read({ bytes, ends }: ReturnType<ReturnType<typeof openPacker>['take']>) {
  return ends.map((end, i) => Buffer.from(bytes.subarray(ends[i - 1] ?? 0, end)).toString())
}
