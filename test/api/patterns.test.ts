import t from 'tap'
import { operations } from '../../api/routes.ts'
import { describeInterface } from '../../api/openapi.ts'
import { readSessionCookie } from '../../api/session-cookie.ts'
import { measureCpuMs } from '../support/cpu-time.ts'

/** What makes careless patterns take time that grows with the square of the text, or faster. */
const SEEDS = [
  'a',
  ' ',
  '0',
  '-',
  '.',
  '/',
  ':',
  ',',
  '@',
  '_',
  '\t',
  'ä',
  'aA',
  'a ',
  'a-',
  '0.',
  '((',
]
const LONG = 200_000
const LIMIT_MS = 250

t.test('no pattern of the interface takes long over any text', async (t) => {
  const patterns = findPatterns(await describeInterface(operations, '0'))
  t.ok(patterns.size >= 5, `${patterns.size} patterns`)
  for (const source of patterns) {
    const pattern = new RegExp(source, 'u')
    t.ok(slowest((text) => pattern.test(text)) < LIMIT_MS, source)
  }
})

t.test('no header is read slowly', async (t) => {
  // Headers are at most 16 KB; ten times that has to be no matter.
  t.ok(slowest((text) => readSessionCookie(`${text};service_session=`)) < LIMIT_MS)
  t.ok(slowest((text) => /^bearer +(\S+) *$/i.exec(`bearer ${text}`)) < LIMIT_MS)
  t.ok(slowest((text) => /\bwait\s*=\s*"?(\d{1,6})/i.exec(`wait${text}`)) < LIMIT_MS)
})

/** Milliseconds of processor time of the worst text. */
function slowest(look: (text: string) => unknown) {
  const times = SEEDS.flatMap((seed) => {
    const text = seed.repeat(LONG / seed.length)
    return [text, `${text}!`, `${text}\n`, `!${text}`].map((each) => measureCpuMs(() => look(each)))
  })
  return Math.max(...times)
}

function findPatterns(value: unknown, found = new Set<string>()) {
  if (typeof value !== 'object' || value === null) return found
  for (const [name, member] of Object.entries(value)) {
    if (name === 'pattern' && typeof member === 'string') found.add(member)
    else findPatterns(member, found)
  }
  return found
}
