import t from 'tap'
import type { Attempt } from '../../../../jobs/rules/datasets/attempts.ts'
import { compareReplay } from '../../../../jobs/rules/datasets/comparisons.ts'
import type { Toolbox } from '../../../../jobs/rules/datasets/tools.ts'
import { attemptWith, toolbox } from '../../../support/attempts.ts'
import fc from '../../../support/property.ts'

/** A trace that was run with `find`, and its replay with `search`. */
const source = (quality: number, ...said: string[]) =>
  attemptWith(toolbox('find'), { index: 1, quality }, ['s:Use find', ...said])
function replay(quality: number, said: readonly string[], tools: Toolbox = toolbox('search')) {
  const told = { index: 2, quality, source_trace_id: 't-1' }
  return attemptWith(tools, told, ['s:Use search', 's:Be brief', ...said])
}
const outcome = (chosen: Attempt, rejected: Attempt) => {
  const found = compareReplay(chosen, rejected)
  return 'reason' in found ? found.reason : [found.turn, found.replay?.index]
}

t.test('a trace and its replay part where the assistant does, whatever it was told', async (t) => {
  t.same(outcome(replay(1, ['u:q', 'a:yes']), source(0, 'u:q', 'a:not')), [1, 2])
  t.same(outcome(source(1, 'u:q', 'a:yes'), replay(0, ['u:q', 'a:not'])), [1, 2])
  const [same, other] = [
    ['u:q', 'c:search', 't:7', 'a:It is 7'],
    ['u:q', 'c:search', 't:7', 'a:It is 8'],
  ]
  t.same(outcome(replay(1, same), source(0, ...other)), [3, 2])
})

t.test('what users and tools said before that turn is equal', async (t) => {
  t.equal(outcome(replay(1, ['u:q', 'a:yes']), source(0, 'u:x', 'a:not')), 'user_divergence')
  t.equal(
    outcome(replay(1, ['u:q', 'a:ok', 'u:more', 'a:y']), source(0, 'u:q', 'a:ok', 'u:else', 'a:n')),
    'user_divergence',
  )
  t.equal(
    outcome(
      replay(1, ['u:q', 'c:search', 't:7', 'a:7']),
      source(0, 'u:q', 'c:search', 't:8', 'a:8'),
    ),
    'env_divergence',
  )
  t.equal(outcome(replay(1, ['u:q', 'a:yes']), source(0, 'u:q', 'a:yes')), 'no_divergence')
})

t.test('the rejected turn may call what the replay lacks, the chosen one not', async (t) => {
  const found = ['u:q', 'c:find']
  const searched = ['u:q', 'c:search']
  t.same(outcome(replay(1, searched), source(0, ...found)), [1, 2])
  t.equal(outcome(source(1, ...found), replay(0, searched)), 'tool_lacking')
  const both = toolbox('find', 'search')
  t.same(outcome(source(1, ...found), replay(0, searched, both)), [1, 2])
  t.same(
    outcome(source(1, ...found), replay(0, searched, toolbox())),
    [1, 2],
    'nobody knows which tools a replay had that tells of none',
  )
})

t.test('arguments that the replay would refuse are not chosen', async (t) => {
  const strict = toolbox('find')
  const schema = { type: 'object', required: ['order'] }
  const refusing = { ...strict, schemas: new Map([['find', schema]]) }
  const found = source(1, 'u:q', 'c:find')
  t.equal(outcome(found, replay(0, ['u:q', 'a:No idea'], refusing)), 'tool_lacking')
  t.same(outcome(found, replay(0, ['u:q', 'a:No idea'], strict)), [1, 2])
})

t.test('the bounds on quality, likeness and length hold for replays too', async (t) => {
  t.equal(outcome(replay(0.5, ['u:q', 'a:yes']), source(0.3, 'u:q', 'a:not')), 'margin')
  t.equal(outcome(replay(1, ['u:q', 'a:Yes!']), source(0, 'u:q', 'a:yes')), 'near_identical')
  t.equal(outcome(replay(1, ['u:q', 'a:y']), source(0, 'u:q', 'a:yes, it is')), 'length_ratio')
})

t.test('a pair has equal turns before it, and one of the assistant on both sides', async (t) => {
  const saying = (...turns: string[]) => fc.array(fc.constantFrom(...turns), { maxLength: 5 })
  const ours = saying('a:one', 'a:two', 'c:search', 't:1', 'u:x')
  const theirs = saying('a:one', 'a:two', 'c:search', 'c:find', 't:1', 'u:x')
  let pairs = 0
  fc.assert(
    fc.property(ours, theirs, fc.boolean(), (ours, theirs, isWin) => {
      const one = replay(isWin ? 1 : 0, ['u:q', ...ours, 'a:end'])
      const other = source(isWin ? 0 : 1, 'u:q', ...theirs, 'a:end')
      const found = isWin ? compareReplay(one, other) : compareReplay(other, one)
      if ('reason' in found) return
      pairs++
      const before = ({ messages, start }: Attempt) => messages.slice(start, start + found.turn)
      t.same(before(one), before(other))
      t.equal(found.replay, one)
      const turns = [found.chosenTurn, found.rejectedTurn]
      t.ok(turns.every(({ role }) => role === 'assistant'))
      const called = (found.chosenTurn.tool_calls ?? []).map(({ name }) => name)
      t.notOk(called.includes('find'), 'the target has no such tool')
    }),
    { numRuns: 500 },
  )
  t.ok(pairs > 50, `${pairs} pairs`)
})
