import { Ajv } from 'ajv'
import type { AnySchema } from 'ajv'

// The published shapes of training files, as JSON Schemas. They are stricter than published in one thing:
// a member that the source does not name is refused.

/** Returns what is wrong with a value, or an empty text. */
export function openCheck(schema: AnySchema) {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true })
  const validate = ajv.compile(schema)
  return (value: unknown) => (validate(value) ? '' : ajv.errorsText(validate.errors))
}

/** OpenAI's API description: `FunctionObject` and `ChatCompletionTool`. */
const TOOL = object({
  type: { const: 'function' },
  function: object(
    { name: text(1) },
    { description: text(), parameters: { type: 'object' }, strict: { type: 'boolean' } },
  ),
})
/** `ChatCompletionMessageToolCall`: arguments are a text of JSON. */
const CALL_OF_TEXT = callWith({ type: 'string' })
/** Chat templates take the arguments as an object (transformers, "Tool use"). */
const CALL_OF_OBJECT = callWith({ type: 'object' })
const TEXT_PART = object({ type: { const: 'text' }, text: text() })
/** `ChatCompletionRequestMessageContentPartImage`. */
const IMAGE_PART = object({
  type: { const: 'image_url' },
  image_url: object({ url: text(1) }, { detail: { enum: ['auto', 'low', 'high'] } }),
})
const TEXT_PARTS = list([TEXT_PART])

/** `FineTuneChatRequestInput`: the members of its `oneOf` of messages. */
const OPENAI_TURN = {
  content: { anyOf: [{ type: ['string', 'null'] }, TEXT_PARTS] },
  refusal: { type: ['string', 'null'] },
  name: text(1),
  tool_calls: { type: 'array', minItems: 1, items: CALL_OF_TEXT },
}
const OPENAI_MESSAGES = [
  object({ role: { const: 'system' }, content: said() }, { name: text(1) }),
  object(
    { role: { const: 'user' }, content: { anyOf: [text(), list([TEXT_PART, IMAGE_PART])] } },
    { name: text(1) },
  ),
  object({ role: { const: 'tool' }, content: said(), tool_call_id: text(1) }),
]
const OPENAI_TOOLS = { type: 'array', minItems: 1, maxItems: 128, items: TOOL }

/** An example for supervised fine-tuning: `FineTuneChatRequestInput`. */
export const OPENAI_CHAT = object(
  {
    messages: list([
      ...OPENAI_MESSAGES,
      object({ role: { const: 'assistant' } }, { ...OPENAI_TURN, weight: { enum: [0, 1] } }),
    ]),
  },
  { tools: OPENAI_TOOLS, parallel_tool_calls: { type: 'boolean' } },
)

/** An example for preference fine-tuning: `FineTunePreferenceRequestInput`. */
const OPENAI_ANSWER = object({ role: { const: 'assistant' } }, OPENAI_TURN)
const OPENAI_OUTPUT = { ...list([OPENAI_ANSWER]), maxItems: 1 }
export const OPENAI_PREFERENCE = object({
  input: object(
    { messages: list([...OPENAI_MESSAGES, OPENAI_ANSWER]) },
    { tools: OPENAI_TOOLS, parallel_tool_calls: { type: 'boolean' } },
  ),
  preferred_output: OPENAI_OUTPUT,
  non_preferred_output: OPENAI_OUTPUT,
})

/**
 * A message of TRL ("Dataset formats and types", conversational): the roles of chat templates, one text,
 * and calls whose arguments are objects. `weight` is ours; trainers pass over members they do not know.
 */
const TRL_MESSAGE = object(
  {
    role: { enum: ['system', 'user', 'assistant', 'tool'] },
    content: { type: ['string', 'null'] },
    weight: { enum: [0, 1] },
  },
  {
    name: text(1),
    tool_call_id: text(1),
    tool_calls: { type: 'array', minItems: 1, items: CALL_OF_OBJECT },
    reasoning_content: text(1),
  },
)
const TRL_MESSAGES = list([TRL_MESSAGE])
const TRL_TURNS = list([withRole(TRL_MESSAGE, 'assistant')])
/** Each row may have tools of its own, in a column `tools` of JSON schemas of functions. */
const TRL_COMMON = { tools: { type: 'array', items: TOOL }, provenance: { type: 'object' } }

/** "Language modeling", "Preference" with an explicit prompt, and "Unpaired preference". */
export const TRL = {
  sft: object({ messages: TRL_MESSAGES, ...TRL_COMMON }),
  dpo: object({ prompt: TRL_MESSAGES, chosen: TRL_TURNS, rejected: TRL_TURNS, ...TRL_COMMON }),
  kto: object({
    prompt: TRL_MESSAGES,
    completion: TRL_TURNS,
    label: { type: 'boolean' },
    ...TRL_COMMON,
  }),
}

/** ShareGPT as LLaMA-Factory describes it (data/README.md, "Sharegpt Format"). */
export const SHAREGPT = object({
  conversations: list([
    object({
      from: { enum: ['human', 'gpt', 'observation', 'function_call'] },
      value: text(),
      weight: { enum: [0, 1] },
    }),
  ]),
  system: { type: ['string', 'null'] },
  tools: text(),
  provenance: { type: 'object' },
})

function object(required: Members, optional: Members = {}) {
  return {
    type: 'object',
    properties: { ...required, ...optional },
    required: Object.keys(required),
    additionalProperties: false,
  }
}

function list(items: readonly object[]) {
  return { type: 'array', minItems: 1, items: { anyOf: items } }
}

function text(minLength = 0) {
  return { type: 'string', minLength }
}

function said() {
  return { anyOf: [text(), TEXT_PARTS] }
}

function callWith(args: object) {
  const called = object({ name: text(1), arguments: args })
  return object({ id: text(1), type: { const: 'function' }, function: called })
}

function withRole(message: ReturnType<typeof object>, role: string) {
  return { ...message, properties: { ...message.properties, role: { const: role } } }
}

type Members = Readonly<Record<string, object>>
