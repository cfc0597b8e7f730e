import t from 'tap'
import {
  boxContent,
  contentText,
  decodeContent,
  decodeContentInSteps,
} from '../../../../jobs/rules/traces/trace-row.ts'
import { recorded } from '../../../support/recorded-trace.ts'

t.test('a content is decoded in steps to what it is at once', async (t) => {
  for (const [messages, isLarge] of [
    [2, false],
    [9000, true],
  ] as const) {
    const rendered_input = Array.from({ length: messages }, (_, i) => ({
      role: 'user',
      content: `${i} “\n${(i * 7919).toString(36)}`,
      n: { i: [i, null, -1.5e-7] },
    }))
    const trace = recorded({ llm_calls: [{ rendered_input }, {}] })
    const content = boxContent(contentText(trace))
    let turns = 0
    const decoded = await decodeContentInSteps(content, async () => void turns++)
    t.equal(JSON.stringify(decoded), JSON.stringify(decodeContent(content)))
    t.equal(decoded.llm_calls[0]?.rendered_input.length, messages)
    t.equal(turns > 2, isLarge, `${turns} turns`)
  }
  const members = Array.from({ length: 40_000 }, (_, i) => `"m${i}":${(i * 7919) % 99_991}`)
  const text = `{"spans":[],"llm_calls":[{"__proto__":{"p":1},${members.join()}}]}`
  const decoded = await decodeContentInSteps(boxContent(text), async () => undefined)
  t.equal(JSON.stringify(decoded), text, 'no member is lost')
  const empty = await decodeContentInSteps(Buffer.alloc(0), async () => undefined)
  t.same(empty, { spans: [], llm_calls: [] })
})
