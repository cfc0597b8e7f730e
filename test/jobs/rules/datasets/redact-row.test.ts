import t from 'tap'
import { completeRecipe, completeStored } from '../../../../jobs/rules/datasets/recipe.ts'
import type { DatasetType, Options, StoredRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import { isRedacted } from '../../../../jobs/rules/datasets/redaction.ts'
import type { RedactionSettings, RedactWord } from '../../../../jobs/rules/datasets/redaction.ts'
import { openRowMaker } from '../../../../jobs/rules/datasets/rows.ts'
import type { Row } from '../../../../jobs/rules/datasets/row-writer.ts'
import {
  assistant,
  calling,
  candidate,
  contentOf,
  result,
  tool,
  user,
} from '../../../support/training-rows.ts'
import type { Call, Training } from '../../../support/training-rows.ts'

const CARD = '4111111111111111'
const BEARER = 'Bearer q7Zr2mXw9LpV4tKc8HbN3sYd6JfG1a'

t.test('a value has one number over all messages of a row', async (t) => {
  const { said, row } = redact(
    [
      user('I am Ann@Example.com, call +49 30 1234567'),
      calling('mail', { to: 'ANN@example.com', cc: 'bob@example.com' }),
      result('sent to bob@example.com'),
      assistant('Done, ann@example.com: I will ring (+49) 30-1234567 or +49-30-1234567.'),
    ],
    ['email', 'phone'],
  )
  const [asked, called, answered, ended] = said.messages ?? []
  t.equal(asked?.content, 'I am [EMAIL_1], call [PHONE_1]')
  t.same(argumentsOf(called), { to: '[EMAIL_1]', cc: '[EMAIL_2]' })
  t.equal(answered?.content, 'sent to [EMAIL_2]')
  t.match(ended?.content, /^Done, \[EMAIL_1\].* or \[PHONE_1\]\.$/)
  t.same(Object.fromEntries(row.redactions), { email: 5, phone: 3 })
})

t.test('the sides of pairs and completions are redacted like their prompts', async (t) => {
  const { said } = redact([user('of a@b.de'), assistant('a@b.de or c@d.de')], ['email'], {
    type: 'kto',
  })
  t.match(said, {
    prompt: [{ content: 'of [EMAIL_1]' }],
    completion: [{ content: '[EMAIL_1] or [EMAIL_2]' }],
  })
})

t.test('parts, refusals and reasoning that is kept are redacted', async (t) => {
  const image = {
    type: 'image_url',
    image_url: { url: 'data:image/png;base64,QUtJ+QTMzRUdS/1jb20=' },
  }
  const messages = [
    user([{ type: 'text', text: 'a@b.de\n"a@b.de"' }, image]),
    { ...assistant('See'), refusal: 'not c@d.de', reasoning_content: 'is it a@b.de?' },
  ]
  const { said, row } = redact(messages, ['email'], { options: { reasoning: 'keep' } })
  t.match(said.messages, [
    { content: [{ type: 'text', text: '[EMAIL_1]\n"[EMAIL_1]"' }, image] },
    { content: 'See', refusal: 'not [EMAIL_2]', reasoning_content: 'is it [EMAIL_1]?' },
  ])
  t.same(row.redactions, [['email', 4]])
  const dropped = redact(messages, ['email'])
  t.same(dropped.row.redactions, [['email', 3]], 'what a row does not say is not counted')
  t.equal(dropped.row.losses.reasoning_dropped, 1)
})

t.test('tools, names and ids stay', async (t) => {
  const declared = tool('mail', { type: 'object', description: 'such as a@b.de' })
  const { said } = redact(
    [{ ...user('a@b.de'), name: 'x@y.de' }, calling('mail', {}), result('ok'), assistant()],
    ['email'],
    { call: { tools: [JSON.stringify(declared)] as never } },
  )
  t.match(said.messages?.[0], { name: 'x@y.de', content: '[EMAIL_1]' })
  t.match(JSON.stringify(said), 'call_1')
})

t.test('a text of JSON stays one, written as it was', async (t) => {
  const given = `{\n  "who": "a\\u0040b.de", "card": ${CARD}, "n": 1.0,\n  "password": "x\\"y", "cookie": ["p", "q"], "token": 77, "max_token": 5 }`
  const { said } = redact([user(), calling('f', {}), result(given), assistant()], ['default'])
  t.equal(
    said.messages?.[2]?.content,
    `{\n  "who": "[EMAIL_1]", "card": "[CARD_1]", "n": 1.0,\n  "password": "[SECRET_1]", "cookie": ["[SECRET_2]", "[SECRET_3]"], "token": "[SECRET_4]", "max_token": 5 }`,
  )
  const deep = { secret: { a: 'x', list: [{ b: 'y', n: 7 }] }, after: ['z', { cookie: [['w']] }] }
  const { said: below } = redact([user(JSON.stringify(deep)), assistant()], ['secret'])
  t.same(JSON.parse(String(below.messages?.[0]?.content)), {
    secret: { a: '[SECRET_1]', list: [{ b: '[SECRET_2]', n: 7 }] },
    after: ['z', { cookie: [['[SECRET_3]']] }],
  })
  const nested = JSON.stringify({ body: JSON.stringify({ api_key: 'abc', to: 'a@b.de' }) })
  const { said: within } = redact([user(nested), assistant()], ['default'])
  t.same(JSON.parse(String(within.messages?.[0]?.content)), {
    body: JSON.stringify({ api_key: '[SECRET_1]', to: '[EMAIL_1]' }),
  })
})

t.test('arguments are redacted as the model wrote them, in every format', async (t) => {
  const args = `{"to":  "a@b.de", "client_secret": "x", "n": 1}`
  for (const [format, expected] of [
    ['openai', `{"to":  "[EMAIL_1]", "client_secret": "[SECRET_1]", "n": 1}`],
    ['trl', { to: '[EMAIL_1]', client_secret: '[SECRET_1]', n: 1 }],
  ] as const) {
    const { said } = redact([user(), calling('f', args)], ['default'], { options: { format } })
    t.same(said.messages?.[1]?.tool_calls?.[0]?.function.arguments, expected, format)
  }
  const { said } = redact([user(), calling('f', args)], ['default'], {
    options: { format: 'sharegpt' },
  })
  t.match(JSON.stringify(said), /client_secret.*\[SECRET_1\]/)
})

t.test(
  'arguments that do not fit their schema any more drop the row, unless null fits',
  async (t) => {
    const schemaOf = (type: unknown) => ({ type: 'object', properties: { card: { type } } })
    const make = (type: unknown) =>
      redactWith([user(), calling('pay', { card: Number(CARD), n: 1 })], ['card'], {
        call: { tools: [tool('pay', schemaOf(type))] as never },
      })
    t.same(argumentsOf(make(['integer', 'null']).messages?.[1]), { card: null, n: 1 })
    t.same(argumentsOf(make(['integer', 'string']).messages?.[1]), { card: '[CARD_1]', n: 1 })
    t.same(argumentsOf(make(undefined).messages?.[1]), { card: '[CARD_1]', n: 1 })
    t.equal(make('integer'), 'redact.schema')

    function redactWith(...given: Parameters<typeof redact>) {
      const [row] = rowsOf(...given)
      return row && 'training' in row ? readRow(row) : (row?.reason as never)
    }
  },
)

t.test('values to keep stay, whole and in any case', async (t) => {
  const settings = { patterns: [], keep: ['Help@Example.com'] }
  const { said } = redact([user('help@example.COM, xhelp@example.com'), assistant()], ['email'], {
    settings,
  })
  t.equal(said.messages?.[0]?.content, 'help@example.COM, [EMAIL_1]')
})

t.test("custom takes out what the project's patterns match", async (t) => {
  const settings = {
    patterns: [
      { name: 'ticket', pattern: 'TCK-\\d+' },
      { name: 'name', pattern: '(?i)\\bann\\b' },
      { name: 'nothing', pattern: '\\b' },
    ],
    keep: ['tck-1'],
  }
  const { said, row } = redact(
    [user('Ann: TCK-12, TCK-1'), calling('f', { id: 'TCK-12', n: 5 }), result('ann'), assistant()],
    ['custom'],
    { settings },
  )
  t.equal(said.messages?.[0]?.content, '[CUSTOM_1]: [CUSTOM_2], TCK-1')
  t.same(argumentsOf(said.messages?.[1]), { id: '[CUSTOM_2]', n: 5 })
  t.same(row.redactions, [['custom', 4]])
  const all = { patterns: [{ name: 'all', pattern: '[A-Za-z0-9_]+' }], keep: [] }
  const { said: nothing } = redact([user('all of it'), assistant()], ['custom'], { settings: all })
  t.equal(nothing.messages?.[0]?.content, '[CUSTOM_1] [CUSTOM_2] [CUSTOM_3]')
})

t.test('patterns that take too long drop the row instead of leaving it as it is', async (t) => {
  const every = Array.from({ length: 20 }, (_, i) => ({ name: `${i}`, pattern: `x[a-z]{${i},99}` }))
  const settings = { patterns: every, keep: [] }
  const rowOf = (count: number) =>
    rowsOf([user('xyz '.repeat(count)), assistant()], ['custom'], { settings })
  t.same(rowOf(100_000), [{ reason: 'redact.limit' }])
  t.match(rowOf(1000), [{ redactions: [['custom', 1000]] }])
  const long = { patterns: [{ name: 'long', pattern: 'x[a-z]*y' }], keep: [] }
  const { said } = redact([user(`x${'a'.repeat(50_000)}y`), assistant()], ['custom'], {
    settings: long,
  })
  t.equal(said.messages?.[0]?.content, '[CUSTOM_1]')
})

t.test('thousands of values of a pattern are taken out', async (t) => {
  const settings = {
    patterns: [
      { name: 'ticket', pattern: '(?i)\\b(?:ticket|case|order)[ -]?[A-Z]{2,4}-\\d{4,8}\\b' },
    ],
    keep: [],
  }
  const said = Array.from({ length: 6000 }, (_, i) => `see ticket AB-${10_000 + i},`).join(' ')
  const { said: left, row } = redact([user(said), assistant()], ['custom'], { settings })
  t.same(row.redactions, [['custom', 6000]])
  t.notMatch(left.messages?.[0]?.content, /AB-/)
})

t.test('a row with what must never get out is dropped, whatever was asked for', async (t) => {
  for (const value of [BEARER, CARD, 'AKIAQ3EGRT7W2NVM5KXP']) {
    t.same(rowsOf([user(value), assistant()], ['email']), [{ reason: 'redact.residual' }], value)
    t.match(rowsOf([user(), calling('f', { value })], ['email']), [{ reason: 'redact.residual' }])
    t.notMatch(rowsOf([user(value), assistant()], ['default']), [{ reason: 'redact.residual' }])
    t.match(rowsOf([user(value), assistant()], []), [{ redactions: [] }])
  }
})

t.test('rows that differ in values alone are the same row', async (t) => {
  const hashOf = (from: string) => redact([user(from), assistant()], ['email']).row.hash
  t.same(hashOf('by a@b.de'), hashOf('by other@example.com'))
  t.not(redact([user('a@b.de'.repeat(50)), assistant()], ['email']).row.tokens, 0)
})

t.test('a recipe says by which settings its rows were redacted', async (t) => {
  const settings = { patterns: [{ name: 'a', pattern: 'b' }], keep: ['X', 'x'] }
  const recipeOf = (redact: RedactWord[], set: RedactionSettings = settings) =>
    completeRecipe('sft', null, { options: { redact } }, set)
  t.equal(recipeOf([]).redaction, null)
  t.match(recipeOf(['custom']).redaction, { patterns: ['b'], keep: ['x'] })
  t.match(recipeOf(['default']).redaction, { patterns: [], keep: ['x'] })
  t.equal(recipeOf(['default']).redaction?.ruleset, recipeOf(['email']).redaction?.ruleset)
  t.not(recipeOf(['custom']).redaction?.ruleset, recipeOf(['email']).redaction?.ruleset)
  t.ok(isRedacted(recipeOf(['default'])))
  t.ok(isRedacted(recipeOf(['custom', 'default'])))
  for (const words of [[], ['email'], ['ssn_us'], ['custom']] as const) {
    t.notOk(isRedacted(recipeOf([...words])), 'the usual classes are what counts')
  }
})

t.test('custom is refused where the project has no patterns', async (t) => {
  for (const keep of [[], ['x']]) {
    const request = { options: { redact: ['custom', 'default'] as const } }
    t.throws(() => completeRecipe('sft', null, request, { patterns: [], keep }), /has no patterns/)
  }
})

t.test('cookies of a header are taken out together', async (t) => {
  const said = 'GET / HTTP/1.1\nCookie: sid=ab1c; theme=dark\nHost: a\n> set-cookie: k=v2; Path=/'
  const { said: left } = redact(
    [user(said), assistant('Accept the cookie: it is good')],
    ['secret'],
  )
  t.match(left.messages, [
    { content: 'GET / HTTP/1.1\nCookie: [SECRET_1]\nHost: a\n> set-cookie: [SECRET_2]' },
    { content: 'Accept the cookie: it is good' },
  ])
})

t.test('a number that stands in a row already is given to no value', async (t) => {
  const { said } = redact(
    [user('ann@example.com'), assistant('[EMAIL_2] wrote to bob@example.com, not [PHONE_9]')],
    ['email'],
  )
  t.match(said.messages, [
    { content: '[EMAIL_3]' },
    { content: '[EMAIL_2] wrote to [EMAIL_4], not [PHONE_9]' },
  ])
})

t.test('two names of members stay two', async (t) => {
  const { said } = redact(
    [user('{"Ann@a.de": 1, "ann@a.de": {"ann@a.de": 2}, "by": "ANN@a.de"}'), assistant()],
    ['email'],
  )
  t.equal(
    said.messages?.[0]?.content,
    '{"[EMAIL_1]": 1, "[EMAIL_2]": {"[EMAIL_2]": 2}, "by": "[EMAIL_1]"}',
  )
})

t.test('a row whose tools have a key is dropped', async (t) => {
  const rowsWith = (description: string) =>
    rowsOf([user(), calling('f', {}), result('ok'), assistant()], ['email'], {
      call: { tools: [tool('f', { type: 'object', description })] as never },
    })
  t.same(rowsWith('with AKIAQ3EGRT7W2NVM5KXP'), [{ reason: 'redact.residual' }])
  t.match(rowsWith('asks a@b.de'), [{ redactions: [] }])
})

t.test('values are found in whatever characters they are written', async (t) => {
  const values = [
    '+49\u00a030\u202f1234567',
    '+1 (555) 123\u20114567',
    '4111\u00a01111\u00a01111\u00a01111',
    '\uff14111111111111111',
    'jose\u0301@example.com',
    'ann\uff20example.com',
    '2a02:8109:9a40:1b2c:4d5e:6f70:8192:a3b4',
    'host/10.0.0.5',
    '{"n": -4111111111111111}',
    '{"passwords": ["hunter2"]}',
    'data:text/AKIAQ3EGRT7W2NVM5KXP;base64,ghp_abcdefghijklmnopqrstuvwxyz0123456789',
  ]
  for (const value of values) {
    const { said } = redact([user(value), assistant()], ['default'])
    t.match(said.messages?.[0]?.content, /\[[A-Z_]+_1\]/, value)
    t.notMatch(said.messages?.[0]?.content, /1111|4567|example|a3b4|\.5$|hunter|ghp_|AKIA/, value)
  }
})

t.test('numbers in a row, versions and what follows a secret stay', async (t) => {
  const texts = [
    '0.12 0.34 0.56 0.78',
    'POINT(13.4049 52.5200)',
    'chrome 120.0.6099.109',
    '1-2-3-4-5-6-7-8-9-10',
    'Chrome/120.0.0.0 Safari',
  ]
  for (const text of texts) {
    t.equal(redact([user(text), assistant()], ['default']).said.messages?.[0]?.content, text)
  }
  const { said } = redact([user('/?token=abcdefgh12345678&user=ann'), assistant()], ['default'])
  t.equal(said.messages?.[0]?.content, '/?token=[SECRET_1]&user=ann')
})

t.test('a recipe of an earlier release redacts nothing', async (t) => {
  const { redaction: _, ...stored } = completeRecipe('sft', null, {})
  const { redact: __, ...options } = stored.options
  const recipe = completeStored({ ...stored, options } as StoredRecipe)
  t.equal(recipe.redaction, null)
  t.notOk(isRedacted(stored as StoredRecipe))
  const [row] = openRowMaker(recipe)(candidate, contentOf({ rendered_input: SAID }))
  t.match(row && 'training' in row && readRow(row), { messages: [{ content: 'a@b.de' }, {}] })
})

const SAID = [user('a@b.de'), assistant()]

/** The only row of a conversation. */
function redact(...given: Parameters<typeof rowsOf>) {
  const [row] = rowsOf(...given)
  if (!row || 'reason' in row) throw new Error(`No row: ${row?.reason}`)
  return { row, said: readRow(row) }
}

function rowsOf(
  messages: readonly object[],
  words: readonly RedactWord[],
  { settings, type = 'sft', options, call }: Given = {},
) {
  const request = { options: { ...options, redact: words } }
  const recipe = completeRecipe(type, null, request, settings)
  return openRowMaker(recipe)(candidate, contentOf({ rendered_input: messages as never, ...call }))
}

function readRow(row: Row) {
  return JSON.parse(row.training) as Training
}

function argumentsOf(message: NonNullable<Training['messages']>[number] | undefined) {
  return JSON.parse(String(message?.tool_calls?.[0]?.function.arguments)) as object
}

interface Given {
  readonly settings?: RedactionSettings
  readonly type?: DatasetType
  readonly options?: Partial<Omit<Options, 'redact'>>
  readonly call?: Call
}
