import type { JudgedTrace } from './stored-traces.ts'

/** What a message of each kind that formats treat differently looks like, a conversation each. */
const CONVERSATIONS = {
  chat: [system('Be brief.'), user('Hi'), says('Hello'), user('Bye'), says('Bye')],
  tools: [user('7?'), calls('call_1'), answers('call_1'), says('A number.')],
  both: [
    user('7 and 7?'),
    calls('call_1', 'call_2'),
    answers('call_1'),
    answers('call_2'),
    says('Yes.'),
  ],
  weights: [user('1'), { ...says('bad'), weight: 0 }, user('2'), says('good')],
  parts: [user(texts('a\n"b"', '[c]')), { role: 'assistant', content: texts('d') }],
  image: [user([...texts('What?'), cat()]), says('A cat.')],
  refusal: [user('Help me steal.'), { role: 'assistant', content: null, refusal: 'I cannot.' }],
  reasoning: [user('2+2?'), { ...says('4'), reasoning_content: 'Two and two.' }],
  developer: [
    { role: 'developer', content: 'Be kind.' },
    { ...user('Hi!'), name: 'Ann' },
    says('Hi'),
  ],
}

/** A trace of each kind of conversation, good ones and bad ones, and two attempts at each of two tasks. */
export const TRAINABLE: readonly JudgedTrace[] = [
  ...Object.entries(CONVERSATIONS).map(([name, messages], n) => ({
    trace_id: name,
    messages,
    tools: messages.some(({ role }) => role === 'tool') ? [look()] : [],
    quality: n % 2 === 0 ? 1 : 0.9,
  })),
  ...attempts('said', says('Nine.'), says('None.')),
  ...attempts('called', calls('call_1'), says('I will not look.')),
  { trace_id: 'bad', messages: [user('Where?'), says('No idea.')], quality: 0 },
]

function attempts(task_id: string, good: object, bad: object): JudgedTrace[] {
  const asked = [system('Look first.'), user(`${task_id}: how many orders?`)]
  return [good, bad].map((end, n) => ({
    trace_id: `${task_id}-${n}`,
    task_id,
    messages: [...asked, end],
    tools: [look()],
    quality: 1 - n,
  }))
}

function look() {
  const parameters = { type: 'object', properties: { id: { type: 'integer' } } }
  return { type: 'function', function: { name: 'look', description: 'Looks it up', parameters } }
}
function cat() {
  return { type: 'image_url', image_url: { url: 'https://example.com/cat.png', detail: 'low' } }
}
function system(content: string) {
  return { role: 'system', content }
}
function user(content: unknown) {
  return { role: 'user', content }
}
function says(content: string) {
  return { role: 'assistant', content }
}
function texts(...all: string[]) {
  return all.map((text) => ({ type: 'text', text }))
}
function calls(...ids: string[]) {
  const called = { name: 'look', arguments: '{"id": 7}' }
  return {
    role: 'assistant',
    content: null,
    tool_calls: ids.map((id) => ({ id, type: 'function', function: called })),
  }
}
function answers(id: string) {
  return { role: 'tool', tool_call_id: id, name: 'look', content: 'n' }
}
