/**
 * Makes an OpenAI fine-tuning file of the lines of a dataset version in the format `openai`:
 *
 *   curl ... | npx node ops/openai-file.ts > train.jsonl
 *
 * Rows of sft become chat examples, rows of dpo preference examples. A line keeps what their published
 * schemas (`FineTuneChatRequestInput`, `FineTunePreferenceRequestInput`) know: provenance, an empty list
 * of tools, the names of tools' answers and the weights of all but the assistant's messages are left out,
 * and developers speak as `system`. Ends with exit code 1 at a line that is neither, and says why.
 *
 * Made to be copied: it imports nothing but modules of Node.js.
 */
import { once } from 'node:events'
import { createInterface } from 'node:readline'

let lineNumber = 0
try {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    lineNumber++
    if (line.trim() === '') continue
    if (!process.stdout.write(`${JSON.stringify(exampleOf(read(line)))}\n`)) {
      await once(process.stdout, 'drain')
    }
  }
} catch (error) {
  process.stderr.write(`Line ${lineNumber} ${(error as Error).message}\n`)
  process.exitCode = 1
}

function exampleOf({ messages, prompt, chosen, rejected, tools = [] }: Row) {
  const declared = tools.length > 0 && { tools }
  if (messages) return { messages: messages.map((message) => asKnown(message, true)), ...declared }
  if (!prompt || !chosen || !rejected) {
    throw new Error(
      'is no row of type sft or dpo; OpenAI has no format for single good and bad rows',
    )
  }
  return {
    input: { messages: prompt.map((message) => asKnown(message, false)), ...declared },
    preferred_output: chosen.map((message) => asKnown(message, false)),
    non_preferred_output: rejected.map((message) => asKnown(message, false)),
  }
}

function asKnown({ weight, name, reasoning_content: _, ...message }: Message, isTrained: boolean) {
  return {
    ...message,
    role: message.role === 'developer' ? 'system' : message.role,
    ...(name !== undefined && message.role !== 'tool' && { name }),
    ...(isTrained && message.role === 'assistant' && { weight }),
  }
}

function read(line: string): Row {
  const row = parse(line)
  const said = [row.messages, row.prompt, row.chosen, row.rejected].flatMap((list) => list ?? [])
  const calls = said.flatMap(({ tool_calls = [] }) => tool_calls)
  if (calls.every((call) => typeof call.function.arguments === 'string')) return row
  throw new Error('has arguments that are no strings: build the version in the format openai')
}

function parse(line: string) {
  try {
    return JSON.parse(line) as Row
  } catch {
    throw new Error('is no JSON')
  }
}

interface Row {
  readonly messages?: readonly Message[]
  readonly prompt?: readonly Message[]
  readonly chosen?: readonly Message[]
  readonly rejected?: readonly Message[]
  readonly tools?: readonly object[]
}
interface Message {
  readonly role: string
  readonly name?: string
  readonly weight: 0 | 1
  readonly reasoning_content?: string
  readonly tool_calls?: readonly { readonly function: { readonly arguments: unknown } }[]
}
