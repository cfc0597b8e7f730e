import t from 'tap'
import { findSensitive, SENSITIVE_CLASSES } from '../../../../jobs/rules/core/sensitive.ts'
import type { SensitiveClass } from '../../../../jobs/rules/core/sensitive.ts'
import { measureCpuMs } from '../../../support/cpu-time.ts'
import fc from '../../../support/property.ts'

/** A text of a megabyte may take a second at worst; the short form only finds what is far from linear. */
const [SIZE, MAX_MS] = process.env['FAULTS'] === 'long' ? [1 << 20, 1000] : [1 << 17, 2000]

const found = (text: string, classes?: readonly SensitiveClass[]) =>
  findSensitive(text, classes).map(
    (value) => `${value.class} ${text.slice(value.start, value.end)}`,
  )

const random = 'q7Zr2mXw9LpV4tKc8HbN3sYd6JfG1aEu5RxTzBvM'

/** Values, and what is like them. */
const CASES: Record<SensitiveClass, { values: string[]; likenesses: string[] }> = {
  private_key: {
    values: [
      `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n${random}\n-----END RSA PRIVATE KEY-----`,
      `-----BEGIN PGP PRIVATE KEY BLOCK-----\n${random}\n-----END PGP PRIVATE KEY BLOCK-----`,
      `-----BEGIN PRIVATE KEY-----\\n${random}\\n-----END PRIVATE KEY-----`,
    ],
    likenesses: ['-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----', '-----BEGIN '],
  },
  jwt: {
    values: [`eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.${random}`],
    likenesses: ['eyJ', 'heyJude.isasong', 'eyJhbGciOiJIUzI1NiJ9'],
  },
  api_key: {
    values: [
      `sk-ant-${random}`,
      `ghp_${random.slice(0, 36)}`,
      'AKIAQ3EGRT7W2NVM5KXP',
      `AIza${random.slice(0, 35)}`,
      `svc_sk_${random.slice(0, 38)}`,
      `8123456789:AA${random.slice(0, 33)}`,
    ],
    likenesses: [
      'task-management-of-the-whole-team',
      'ghp_short',
      'AKIA',
      'risk-averse_investors_of_europe',
    ],
  },
  bearer: { values: [random], likenesses: [] },
  secret: { values: ['hunter2'], likenesses: [] },
  email: {
    values: ['a.b+c@mail.example.co.uk', 'müller@straße.de', "o'neil_1@x-y.org"],
    likenesses: ['a@b', '@decorator', 'user@localhost', 'x @ y.z', 'git@'],
  },
  iban: {
    values: ['DE89 3704 0044 0532 0130 00', 'GB82WEST12345698765432', 'NO9386011117947'],
    likenesses: ['DE89 3704 0044 0532 0130 01', 'GB82WEST1234569876543', 'ZZ82WEST12345698765432'],
  },
  card: {
    values: ['4111111111111111', '5500 0000 0000 0004', '3782-822463-10005', '4222222222222'],
    likenesses: ['4111111111111112', '1699999999999', '14111111111111111', '1234 5678 9012 3456'],
  },
  ssn_us: {
    values: ['078-05-1120'],
    likenesses: [
      '000-12-3456',
      '666-12-3456',
      '900-12-3456',
      '123-00-4567',
      '1123-45-6789',
      '123-45-67890',
    ],
  },
  ip: {
    values: ['10.1.2.3', '203.0.113.9', '2001:db8::1'],
    likenesses: [
      'v1.2.3.4',
      '1.2.3.4.5',
      '300.1.1.1',
      '127.0.0.1',
      '0.0.0.0',
      '12:30:45',
      'std::vector',
      '::1',
    ],
  },
  phone: {
    values: [
      '+49 30 12345678',
      '+14155550100',
      '(555) 123-4567',
      '555-123-4567',
      '06 12 34 56 78',
      '1-800-555-1234',
    ],
    likenesses: [
      '2024-01-15 10:30',
      '15.01.2024 10 20',
      '978-3-16-148410-0',
      '10 20 30 40 50 60',
      '192.168.100.200',
      '1234567890',
      '12345678-1234-1234-1234-123456789012',
    ],
  },
}

t.test('each class finds its values between other words, and not what is like them', async (t) => {
  for (const name of SENSITIVE_CLASSES) {
    const lead = name === 'bearer' ? 'Bearer ' : name === 'secret' ? 'password="' : ''
    const after = name === 'secret' ? '"' : ''
    const { values, likenesses } = CASES[name]
    for (const value of values) {
      for (const [before, behind] of [
        ['', ''],
        ['see ', ' there'],
        ['(', ')'],
        ['is: ', '.'],
        ['\n', ',\n'],
      ]) {
        t.same(found(`${before}${lead}${value}${after}${behind}`, [name]), [`${name} ${value}`])
      }
    }
    for (const text of likenesses) t.same(found(`see ${text} there`, [name]), [], text)
  }
})

t.test('values of one class after another are all found', async (t) => {
  for (const name of ['email', 'iban', 'card', 'ip', 'phone', 'ssn_us'] as const) {
    const { values } = CASES[name]
    // A blank is what the groups of one number are parted by as well.
    for (const gap of name === 'phone' ? [', ', '\n'] : [' ', ', ', '\n']) {
      t.same(
        found(values.join(gap), [name]),
        values.map((value) => `${name} ${value}`),
        name,
      )
    }
  }
})

t.test('a secret is the value of a key that says so', async (t) => {
  const cases: [string, string | undefined][] = [
    ['{"password": "hunter2"}', 'hunter2'],
    ['{"Client-Secret":"a b"}', 'a b'],
    [String.raw`{"x": "{\"api_key\": \"abc\"}"}`, 'abc'],
    [String.raw`{"token": "a\"b"}`, String.raw`a\"b`],
    ["apiKey: 'abc'", 'abc'],
    ['DB_PASSWORD=s3cr3t-pw', 's3cr3t-pw'],
    ['postgres://app:pw1@db/x', 'pw1'],
    ['Cookie: session=abc', undefined],
    ['{"max_tokens": 4096}', undefined],
    ['{"token_count": "12"}', undefined],
    ['token = process.env.SERVICE_TOKEN_2', undefined],
    ['password = read_password()', undefined],
    ['The secret: simplicity', undefined],
    ['https://example.com:8080/a@b', undefined],
  ]
  for (const [text, value] of cases) {
    t.same(found(text, ['secret']), value === undefined ? [] : [`secret ${value}`], text)
  }
})

t.test('credentials of HTTP are found behind their scheme', async (t) => {
  t.same(found('Authorization: Basic dXNlcjpwYXNzd29yZA=='), ['bearer dXNlcjpwYXNzd29yZA=='])
  t.same(found('Basic understanding of the Bearer and internationalization'), [])
})

t.test('a private key without its end is found as far as it goes', async (t) => {
  t.same(found(`-----BEGIN PRIVATE KEY-----\n${random}`), [
    `private_key -----BEGIN PRIVATE KEY-----\n${random}`,
  ])
})

t.test('what overlaps is one value, named by what begins first', async (t) => {
  t.same(found(`{"authorization": "Bearer sk-${random}"}`), [`secret Bearer sk-${random}`])
  t.same(found(`Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.${random}`), [
    `jwt eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhIn0.${random}`,
  ])
})

t.test('values are in order, apart, and within any text', async () => {
  const piece = fc.oneof(
    fc.constantFrom(
      ...Object.values(CASES).flatMap(({ values, likenesses }) => [...values, ...likenesses]),
    ),
    fc.constantFrom(
      'password="',
      'Bearer ',
      '"',
      '-----BEGIN PRIVATE KEY-----',
      '@',
      '://',
      '\\"',
      ' ',
    ),
    fc.string({ unit: 'binary' }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const text = pieces.join('')
      let end = 0
      for (const value of findSensitive(text)) {
        if (value.start < end || value.end <= value.start || value.end > text.length) return false
        end = value.end
      }
      return true
    }),
    { numRuns: 500 },
  )
})

t.test('no text takes long', async (t) => {
  const texts = [
    'a',
    '1',
    '-',
    ' ',
    '@',
    '1 ',
    '1.',
    '1-',
    '+1 ',
    'a@a.',
    '@a',
    'A1',
    'DE00 ',
    '://a:',
    'token=',
    'token="',
    "token='",
    'token\\":\\"',
    'Bearer ',
    'bearer a',
    'Basic ',
    'eyJ',
    'eyJa.',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN ',
    'sk-',
    '-eyJ',
    '4111 ',
    '(',
    '1:',
    'f:',
    '::',
  ]
  for (const text of texts) {
    const long = text.repeat(Math.ceil(SIZE / text.length))
    const took = measureCpuMs(() => findSensitive(long))
    t.ok(took < MAX_MS, `${text} took ${took} ms`)
  }
})
