// How fast values are found and taken out of texts, against hashing them; and rows that are redacted, which
// are looked at twice, against the same rows without:
// node ops/bench/redact.ts [--megabytes 20] [--rounds 5] [--values 2] [--smoke]
import { hash } from 'node:crypto'
import { completeRecipe } from '../../jobs/rules/datasets/recipe.ts'
import type { Redaction } from '../../jobs/rules/datasets/redaction.ts'
import { openTextRedactors } from '../../jobs/rules/datasets/redact-text.ts'
import { openRowWriter } from '../../jobs/rules/datasets/row-writer.ts'
import { readTrained } from '../../jobs/rules/datasets/rows.ts'
import type { Toolbox } from '../../jobs/rules/datasets/tools.ts'
import type { Message } from '../../jobs/rules/traces/trace.ts'
import { report, round } from './figures.ts'
import { generateTraceLines } from './generate.ts'
import { readOptions } from './options.ts'

const { megabytes, rounds, values } = readOptions({
  megabytes: [20, 0.5],
  rounds: [5, 1],
  values: [2, 2],
})
const NO_TOOLS: Toolbox = { texts: new Map(), json: '[]', schemas: new Map(), from: 'seen' }
const conversations = [...generateTraceLines({ bytes: megabytes * 1e6, calls: 'last' })].map(
  (line) => (JSON.parse(line) as { messages: readonly Message[] }).messages.map(withValue),
)
const texts = conversations
  .flat()
  .flatMap(({ content }) => (typeof content === 'string' ? [content] : []))
const bytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
const asked = completeRecipe('sft', null, { options: { redact: ['default'] } })
const redactors = openTextRedactors(asked.options.redact, asked.redaction as Redaction)

const hashing = speedOf(() => texts.forEach((text) => void hash('sha256', text)))
const redacting = speedOf(() => texts.forEach((text) => void redactors().redactText(text)))
const plain = speedOf(() => makeRows(completeRecipe('sft', null, {})))
const redacted = speedOf(() => makeRows(asked))

report(
  figure('finding and replacing values in texts, to SHA-256', redacting, hashing),
  figure('writing redacted rows, to rows as they are', redacted, plain),
)

function makeRows(recipe: typeof asked) {
  const write = openRowWriter(recipe)
  for (const messages of conversations) {
    const read = readTrained(messages, NO_TOOLS)
    if ('reason' in read) throw new Error(read.reason)
    write({ ...read, parts: { lists: { messages: read.messages } }, corrected: false })
  }
}

/** Of `values` messages in ten, one with a value. */
function withValue(message: Message, i: number): Message {
  if (i % 10 >= values || typeof message.content !== 'string') return message
  return { ...message, content: `${message.content} (ann.${i}@example.com, +49 30 12345${i})` }
}

/** MB of contents in a second of processor time, the best of the rounds. */
function speedOf(work: () => void) {
  const spentUs = Array.from({ length: rounds }, () => {
    const since = process.threadCpuUsage()
    work()
    const { user, system } = process.threadCpuUsage(since)
    return user + system
  })
  return bytes / Math.max(1, Math.min(...spentUs))
}

function figure(what: string, speed: number, ceiling: number) {
  const figures = `${Math.round(speed)} against ${Math.round(ceiling)} MB/s`
  return { what, ratio: round(speed / ceiling), figures }
}
