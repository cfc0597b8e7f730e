import t from 'tap'
import { adviseOnRefusal } from '../../../../jobs/rules/import/pull-advice.ts'

const advise = (
  status: number,
  { retryAfterSeconds = null, chance = 1, ...at }: Partial<Asked> = {},
) =>
  adviseOnRefusal(
    { status, retryAfterSeconds, message: 'Said' },
    { waits: 0, waitedSeconds: 0, isSearching: false, isInside: false, canDivide: true, ...at },
    chance,
  )

t.test('a platform that asks for patience is waited for as long as it says', async (t) => {
  t.same(advise(429, { retryAfterSeconds: 7 }), { kind: 'wait', seconds: 7 })
  t.same(advise(503, { retryAfterSeconds: 7 }), { kind: 'wait', seconds: 7 })
  t.same(advise(429, { retryAfterSeconds: -5 }), { kind: 'wait', seconds: 1 })
  t.same(advise(429, { retryAfterSeconds: 86_400 }), { kind: 'wait', seconds: 3600 })
})

t.test('without a word it is waited for longer each time, and not by all at once', async (t) => {
  const waits = [0, 1, 2, 7, 8, 50].map((n) => advise(429, { waits: n }))
  t.same(
    waits.map((each) => each.kind === 'wait' && each.seconds),
    [2, 4, 8, 256, 300, 300],
  )
  t.match(advise(429, { waits: 2, chance: 0 }), { seconds: 4 })
  t.same(advise(429, { waits: 300 }), { kind: 'retry' }, 'after a day it counts as away')
  const named = { retryAfterSeconds: 3600, waits: 48 }
  t.match(advise(429, { ...named, waitedSeconds: 172_799 }), { kind: 'wait' })
  t.same(advise(429, { ...named, waitedSeconds: 172_800 }), { kind: 'retry' }, 'or after two')
})

t.test('what another try does not mend ends the pull', async (t) => {
  const codeOf = (status: number) => {
    const advice = advise(status)
    return advice.kind === 'give_up' && advice.code
  }
  for (const status of [401, 403]) t.equal(codeOf(status), 'source_refused')
  for (const status of [301, 302, 307, 308]) t.equal(codeOf(status), 'source_redirects')
  t.equal(codeOf(404), 'source_project_unknown')
  t.equal(codeOf(400), 'source_rejected')
})

t.test('a window that is refused and cannot be shorter is not asked for again', async (t) => {
  t.match(advise(422, { canDivide: false }), { kind: 'give_up', code: 'source_rejected' })
})

t.test('where the project is not found the address may be wrong, too', async (t) => {
  t.match(advise(404, { isSearching: true }), {
    code: 'source_project_unknown',
    message: /^Said\. There is no such project, or base_url/,
  })
  t.match(advise(404), { message: 'Said' })
})

t.test('faults of the platform are tried again', async (t) => {
  for (const status of [408, 500, 502, 503, 504, 524]) t.same(advise(status), { kind: 'retry' })
})

t.test('a refused cursor begins the window again, and a refused size asks for less', async (t) => {
  for (const status of [400, 404, 410, 422]) {
    t.same(advise(status, { isInside: true }), { kind: 'restart' }, String(status))
  }
  t.same(advise(422), { kind: 'restart' })
  t.same(advise(422, { isInside: true, canDivide: false }), { kind: 'restart' })
  t.same(advise(413), { kind: 'less' })
  t.match(advise(401, { isInside: true }), { kind: 'give_up' })
})

interface Asked {
  readonly retryAfterSeconds: number | null
  readonly chance: number
  readonly waits: number
  readonly waitedSeconds: number
  readonly isSearching: boolean
  readonly isInside: boolean
  readonly canDivide: boolean
}
