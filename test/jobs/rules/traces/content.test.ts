import t from 'tap'
import { compressText } from '../../../../jobs/rules/core/zstd.ts'
import {
  contentText,
  decodeContent,
  decodeContentInSteps,
  encodeContent,
  encodeContentInSteps,
  inflateContent,
  peekContent,
  readContent,
  shareContent,
} from '../../../../jobs/rules/traces/content.ts'
import type { InflatedContent } from '../../../../jobs/rules/traces/content.ts'
import type { TraceContent } from '../../../../jobs/rules/traces/trace.ts'
import { contents, encoded, growing } from '../../../support/any-content.ts'
import { recorded } from '../../../support/recorded-trace.ts'
import fc from '../../../support/property.ts'

const FORMS = ['whole', 'shared'] as const
const pause = async () => undefined
const DAMAGED = { message: 'The content of the trace is damaged' }

t.test('any content comes back from either form as it was, member by member', async (t) => {
  await fc.assert(
    fc.asyncProperty(contents(), async (text) => {
      const content = JSON.parse(text) as TraceContent
      for (const form of FORMS) {
        const bytes = encodeContent(content, form)
        t.equal(contentText(decodeContent(bytes)), contentText(content))
        const { length } = contentText(content)
        t.same(await encodeContentInSteps(content, { form, max: length, pause }), bytes)
        t.equal(await encodeContentInSteps(content, { form, max: length - 1, pause }), undefined)
      }
      t.equal(contentText(content), contentText(JSON.parse(text) as TraceContent), 'unchanged')
    }),
  )
})

t.test(
  'contents of any sizes and forms that are read one after another have their own texts',
  (t) => {
    fc.assert(
      fc.property(fc.array(encoded(), { maxLength: 30 }), (all) => {
        const inflated = all.map(inflateContent)
        for (const [i, bytes] of all.entries()) {
          t.same(peekContent(bytes), inflated[i])
          t.strictSame(decodeContent(bytes), readContent(inflated[i] as InflatedContent))
        }
      }),
    )
    t.end()
  },
)

t.test('contents behind a damaged one are read', (t) => {
  const good = Array.from({ length: 3 }, (_, n) => encodeContent(growing(n).content, 'shared'))
  const texts = good.map((bytes) => contentText(decodeContent(bytes)))
  const frame = encodeContent(growing(1).content, 'whole')
  const short = Buffer.from(frame)
  // The byte after magic and descriptor is the lowest of the size it tells.
  short.writeUInt8(short.readUInt8(5) - 1, 5)
  const cut = frame.subarray(0, -1)
  const other = Buffer.of(2, ...frame)
  for (const [bad, message] of [
    [cut, DAMAGED.message],
    [short, DAMAGED.message],
    [Buffer.of(0x28), DAMAGED.message],
    [other, /begins with 0x02/],
  ] as const) {
    for (const read of [decodeContent, inflateContent, peekContent]) {
      t.throws(() => read(bad), { message })
      t.strictSame(
        good.map((bytes) => contentText(decodeContent(bytes))),
        texts,
      )
    }
  }
  t.end()
})

t.test('odd values come back from the shared form as they were', (t) => {
  for (const [first, second] of [
    ['{"rendered_input":[{"__proto__":{"a":1},"a":2}],"__proto__":7}', '{"tools":5,"output":6}'],
    ['{"rendered_input":[-0,1e400,0.1e-7,12345678901234567890]}', '{"rendered_input":[0,null]}'],
    ['{"rendered_input":["\\ud800",{"\\udc00":"\\ud83d"}]}', '{"output":"\\ud800"}'],
    ['{"rendered_input":[],"tools":[],"output":{}}', '{"rendered_input":[[]],"tools":{}}'],
    ['{"rendered_input":null,"tools":null,"output":null}', '{"response_format":null}'],
    ['{"rendered_input":{"0":1},"tools":"0"}', '{"rendered_input":"text","output":false}'],
    ['{"rendered_input":[{"a":1,"b":2}]}', '{"rendered_input":[{"b":2,"a":1}]}'],
    ['{"rendered_input":[{"1":[],"0":{}}]}', '{"rendered_input":[{"0":{},"1":[]}]}'],
    ['[[0,1]]', '7'],
    ['null', '{"messages":[],"2":1,"1":2}'],
  ]) {
    const text = `{"spans":[],"llm_calls":[${first},${second}]}`
    const content = JSON.parse(text) as TraceContent
    const again = decodeContent(encodeContent(content, 'shared'))
    t.equal(contentText(again), contentText(content), text)
  }
  t.end()
})

t.test('calls share the messages, tools and response formats that they repeat', (t) => {
  const { content, text } = growing(9)
  const bytes = encodeContent(content, 'shared')
  t.equal(bytes[0], 1)
  const { messages, schemas, llm_calls } = JSON.parse(text(bytes)) as Record<string, unknown[]>
  t.equal(messages?.length, 2 + 9)
  t.equal(schemas?.length, 2)
  t.match(llm_calls?.at(-1), { rendered_input: [0, 10], output: 10, tools: 0, response_format: 1 })
  const [first, , third] = decodeContent(bytes).llm_calls
  t.equal(third?.rendered_input[0], first?.rendered_input[0], 'one object')
  t.equal(third?.tools, first?.tools)
  t.end()
})

t.test('a conversation that is cut, or of several agents, is shared too', (t) => {
  const message = (i: number) => ({ role: 'user', content: `message ${i}` })
  const prompts = [
    [0, 1, 2],
    [7, 8],
    [0, 2, 3],
    [7, 8, 9],
    [3, 3, 3],
  ]
  const llm_calls = prompts.map((each) => ({ rendered_input: each.map(message) }))
  const { spans, llm_calls: calls } = recorded({ llm_calls })
  const bytes = encodeContent({ spans, llm_calls: calls }, 'shared')
  const kept = JSON.parse(inflateContent(bytes).text.toString()) as Record<string, unknown[]>
  t.same(
    kept['llm_calls']?.map((call) => (call as Record<string, unknown>)['rendered_input']),
    [
      [0, 3],
      [3, 5],
      [0, 1, 2, 3, 5, 6],
      [3, 5, 6, 7],
      [5, 6, 5, 6, 5, 6],
    ],
  )
  t.same(decodeContent(bytes), { spans, llm_calls: calls })
  t.end()
})

t.test('equal contents are equal bytes, whether or not their messages are one object', (t) => {
  const { content } = growing(4)
  const copied = JSON.parse(contentText(content)) as TraceContent
  t.same(encodeContent(copied, 'shared'), encodeContent(content, 'shared'))
  t.end()
})

t.test('contents of releases before are read, and one call is still written as they did', (t) => {
  const { content } = growing(3)
  t.same(decodeContent(compressText(contentText(content))), content)
  t.same(decodeContent(Buffer.alloc(0)), { spans: [], llm_calls: [] })
  const one = { ...content, llm_calls: content.llm_calls.slice(0, 1) }
  t.same(encodeContent(one, 'shared'), compressText(contentText(one)))
  t.same(encodeContent(content, 'whole'), compressText(contentText(content)))
  t.end()
})

t.test('a whole content is shared where that says the same text', async (t) => {
  const { content } = growing(3)
  const shared = encodeContent(content, 'shared')
  t.same(await shareContent(encodeContent(content, 'whole'), pause), shared)
  const { spans, llm_calls } = content
  for (const [what, bytes] of [
    ['shared already', shared],
    ['one call', encodeContent({ spans, llm_calls: llm_calls.slice(1, 2) }, 'whole')],
    ['another order', compressText(JSON.stringify({ llm_calls, spans }))],
    ['another member', compressText(JSON.stringify({ spans, llm_calls, more: 1 }))],
    ['another style', compressText(JSON.stringify({ spans, llm_calls }, null, 1))],
  ] as const) {
    t.equal(await shareContent(bytes, pause), undefined, what)
  }
  await t.rejects(shareContent(shared.subarray(0, 9), pause), DAMAGED)
})

t.test('bytes that say nothing are refused with a sentence', async (t) => {
  const { content, text } = growing(3)
  const bytes = encodeContent(content, 'shared')
  const shared = text(bytes)
  const wrong = [
    ['[0,4]', '[0,400]'],
    ['[0,4]', '[-1,4]'],
    ['[0,4]', '[0]'],
    ['[0,4]', '["0",4]'],
    ['"output":4', '"output":4.5'],
    ['"tools":0', '"tools":9'],
    ['"messages":', '"other":'],
    ['"llm_calls":', '"other":'],
  ] as const
  const marked = (json: string) => Buffer.concat([Buffer.of(1), compressText(json)])
  t.equal(shared, text(marked(shared)))
  for (const damaged of [
    ...wrong.map(([from, to]) => marked(shared.replaceAll(from, to))),
    marked(shared.slice(1)),
    marked('null'),
    bytes.subarray(0, 40),
    bytes.subarray(1, 40),
    Buffer.concat([bytes.subarray(0, 1), bytes]),
    Buffer.of(1),
  ]) {
    t.throws(() => decodeContent(damaged), DAMAGED)
    await t.rejects(decodeContentInSteps(damaged, pause), DAMAGED)
  }
  t.throws(() => decodeContent(Buffer.from('{}')), /begins with 0x7b: it is damaged, or of a newer/)
})

for (const form of FORMS) {
  t.test(`a ${form} content is decoded in steps to what it is at once`, async (t) => {
    for (const [messages, isLarge] of [
      [2, false],
      [9000, true],
    ] as const) {
      const rendered_input = Array.from({ length: messages }, (_, i) => ({
        role: 'user',
        content: `${i} “\n${(i * 7919).toString(36)}`,
        n: { i: [i, null, -1.5e-7] },
      }))
      const content = encodeContent(recorded({ llm_calls: [{ rendered_input }, {}] }), form)
      let turns = 0
      const decoded = await decodeContentInSteps(content, async () => void turns++)
      t.equal(JSON.stringify(decoded), JSON.stringify(decodeContent(content)))
      t.equal(decoded.llm_calls[0]?.rendered_input.length, messages)
      t.equal(turns > 2, isLarge, `${turns} turns`)
    }
  })
}

t.test('a large object loses no member where it is decoded in steps', async (t) => {
  const members = Array.from({ length: 40_000 }, (_, i) => `"m${i}":${(i * 7919) % 99_991}`)
  const text = `{"spans":[],"llm_calls":[{"__proto__":{"p":1},${members.join()}}]}`
  t.equal(JSON.stringify(await decodeContentInSteps(compressText(text), pause)), text)
  t.same(await decodeContentInSteps(Buffer.alloc(0), pause), { spans: [], llm_calls: [] })
})
