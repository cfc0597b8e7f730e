import { constants, zstdCompressSync } from 'node:zlib'
import { contentText, encodeContent, inflateContent } from '../../jobs/rules/traces/content.ts'
import type { TraceContent } from '../../jobs/rules/traces/trace.ts'
import { recorded } from './recorded-trace.ts'
import fc from './property.ts'

/** A conversation that grows by its outputs, as an agent records it. */
export function growing(count: number) {
  const messages = [
    { role: 'system', content: 'You help' },
    { role: 'user', content: 'Why?' },
    ...Array.from({ length: count }, (_, i) => ({ role: 'assistant', content: `Since ${i}` })),
  ]
  const llm_calls = Array.from({ length: count }, (_, i) => ({
    id: `c${i}`,
    rendered_input: messages.slice(0, i + 2),
    output: messages[i + 2] ?? {},
    tools: [{ name: 'find', parameters: { type: 'object' } }],
    response_format: { type: 'json_object' },
  }))
  const { spans, llm_calls: calls } = recorded({ llm_calls })
  const text = (bytes: Uint8Array) => inflateContent(bytes).text.toString()
  return { content: { spans, llm_calls: calls }, text }
}

/** Encoded contents: none, long and short ones, and frames that do not tell their size. */
export function encoded() {
  const unsized = { params: { [constants.ZSTD_c_contentSizeFlag]: 0 } }
  return fc.oneof(
    fc.constant(Buffer.alloc(0)),
    fc.integer({ min: 0, max: 60 }).map((n) => encodeContent(growing(n).content, 'whole')),
    fc
      .tuple(contents(), fc.constantFrom('whole', 'shared'))
      .map(([text, form]) => encodeContent(JSON.parse(text) as TraceContent, form)),
    contents().map((text) => zstdCompressSync(contentText(JSON.parse(text)), unsized)),
  )
}

/** JSON texts of contents in which little differs, so that much repeats. */
export function contents() {
  const json = fc.oneof(
    fc.constantFrom('0', '1', '-0', '1e400', '{}', '[]', 'null', '""', '"\\ud800"'),
    fc.constantFrom('{"role":"user"}', '{"role":"user","a":[1,{}]}', '{"__proto__":[]}'),
    fc.jsonValue().map((value) => JSON.stringify(value)),
  )
  const list = fc.array(json, { maxLength: 5 }).map((items) => `[${items.join()}]`)
  const names = ['rendered_input', 'output', 'tools', 'response_format', '__proto__', 'id', '1']
  const member = fc.tuple(fc.constantFrom(...names), fc.oneof(json, list))
  const call = fc
    .uniqueArray(member, { selector: ([name]) => name, maxLength: names.length })
    .map((members) => `{${members.map(([name, value]) => `"${name}":${value}`).join()}}`)
  return fc
    .tuple(list, fc.array(fc.oneof({ weight: 5, arbitrary: call }, json), { maxLength: 5 }))
    .map(([spans, calls]) => `{"spans":${spans},"llm_calls":[${calls.join()}]}`)
}
