import t from 'tap'
import {
  contentText,
  decodeContent,
  encodeContent,
  writeContents,
} from '../../../../jobs/rules/traces/content.ts'
import type { TraceContent } from '../../../../jobs/rules/traces/trace.ts'
import { compressText } from '../../../../jobs/rules/core/zstd.ts'
import { encoded, growing } from '../../../support/any-content.ts'
import fc from '../../../support/property.ts'

const DAMAGED = { message: 'The content of the trace is damaged' }

t.test('what is written of contents is what parsing them and writing them gives', async (t) => {
  await fc.assert(
    fc.asyncProperty(fc.array(encoded(), { maxLength: 30 }), async (all) => {
      const parsed = all.map((bytes) => contentText(decodeContent(bytes)))
      t.strictSame(await written(all), parsed)
      t.strictSame(
        parsed.map((text) => contentText(JSON.parse(text) as TraceContent)),
        parsed,
      )
    }),
  )
})

t.test('texts that parsing or escaping could change stay as they are', async (t) => {
  const odd = [
    { __proto__: 1, '10': 2, '9': 3, 'a"]},"llm_calls":[': -0 },
    ['\0', '\ud800', '\udc00\ud800', '😀', '\\', '\\"', '"', '\u2028', 1e21, 1e-7, 5e-324],
    'x'.repeat(3_000_000),
    '\\"'.repeat(200_000),
    { output: 0, tools: [1], rendered_input: { tools: 2 }, llm_calls: [], spans: null },
  ]
  const text = (own: unknown) => JSON.stringify(own)
  const calls = odd.map((value) => ({
    id: value,
    rendered_input: odd,
    output: value,
    tools: [value],
    tool_calls: odd,
  }))
  const content = JSON.parse(text({ spans: odd, llm_calls: calls })) as TraceContent
  for (const form of ['whole', 'shared'] as const) {
    const [got] = await written([encodeContent(content, form)])
    t.ok(got === contentText(content), form)
  }
})

t.test('a content is written in pieces, between which others can have their turn', async (t) => {
  const bytes = encodeContent(growing(400).content, 'shared')
  for await (const [, pieces] of writeContents([{ content: bytes }])) {
    t.ok([...pieces].length > 1200)
  }
})

t.test('a damaged content is not written', async (t) => {
  const shared = (text: string) => Buffer.concat([Buffer.of(1), compressText(text)])
  const good = encodeContent(growing(3).content, 'shared')
  for (const bad of [
    good.subarray(0, -1),
    Buffer.of(0x28),
    shared('[]'),
    shared('{"messages":[],"schemas":[],"spans":[],"llm_calls":[{"output":0}]}'),
    shared('{"messages":[1],"schemas":[],"spans":[],"llm_calls":[{"rendered_input":[1,0]}]}'),
    shared('{"messages":[1],"schemas":[],"spans":[],"llm_calls":[{"rendered_input":[0,2]}]}'),
    shared('{"messages":[1],"schemas":[],"spans":[],"llm_calls":[{"output":"0.5"}]}'),
    shared('{"messages":[1],"schemas":[],"spans":[],"llm_calls":[{"output":'),
    shared('{"messages":["1'),
  ]) {
    await t.rejects(written([good, bad, good]), DAMAGED)
  }
  await t.rejects(written([Buffer.of(2)]), /begins with 0x02/)
})

async function written(contents: readonly Buffer[]) {
  const texts: string[] = []
  for await (const [, pieces] of writeContents(contents.map((content) => ({ content })))) {
    texts.push(Buffer.concat([...pieces]).toString())
  }
  return texts
}
