import t from 'tap'
import {
  chooseItems,
  CONFLICT_POLICIES,
  planSync,
} from '../../../../jobs/rules/skills/plan-sync.ts'
import type { SyncItem, StoredSkill, SyncStep } from '../../../../jobs/rules/skills/plan-sync.ts'
import { hashBody } from '../../../../jobs/rules/skills/skill.ts'
import fc from '../../../support/property.ts'

const EARLY = new Date('2026-01-01T00:00:00Z')
const STORED = new Date('2026-02-01T00:00:00Z')
const LATE = new Date('2026-03-01T00:00:00Z')

function item(name: string, body: string, more: Partial<SyncItem> = {}): SyncItem {
  return { name, body, sha256: hashBody(body), ...more }
}

/** A stored skill whose versions have these bodies, as it is looked up for an item with `body`. */
function stored(bodies: readonly string[], body: string): StoredSkill {
  const versions = bodies.map((each, i) => ({
    id: `v${i + 1}`,
    version_number: i + 1,
    body_sha256: hashBody(each),
    created_at: STORED,
  }))
  const newest = versions.at(-1)
  if (!newest) throw new Error('A skill has a version')
  const same = versions.findLast(({ body_sha256 }) => body_sha256.equals(hashBody(body)))
  return { newest, same, updatedAt: STORED }
}

function stepsOf(plan: ReturnType<typeof planSync>) {
  return 'steps' in plan ? plan.steps : []
}

t.test('a plan', async (t) => {
  const cases = { same: 'newest', older: 'oldest', other: 'another' }
  const expected: Record<string, Record<keyof typeof cases, object>> = {
    local_wins: {
      same: { action: 'no_change', isLocal: true },
      older: { action: 'pushed', restored: { version_number: 1 } },
      other: { action: 'pushed', restored: undefined },
    },
    'newer_wins with a later item': {
      same: { action: 'no_change', isLocal: true },
      older: { action: 'pushed', restored: { version_number: 1 } },
      other: { action: 'pushed', restored: undefined },
    },
    'newer_wins with an earlier item': {
      same: { action: 'no_change', isLocal: false },
      older: { action: 'pulled' },
      other: { action: 'pulled' },
    },
    'newer_wins with one of the same time': {
      same: { action: 'no_change', isLocal: false },
      older: { action: 'pulled' },
      other: { action: 'pulled' },
    },
    'newer_wins with one of no time': {
      same: { action: 'failed', code: 'missing_local_updated_at' },
      older: { action: 'failed', code: 'missing_local_updated_at' },
      other: { action: 'failed', code: 'missing_local_updated_at' },
    },
    remote_wins: {
      same: { action: 'no_change', isLocal: false },
      older: { action: 'pulled' },
      other: { action: 'pulled' },
    },
  }
  const times = { later: LATE, earlier: EARLY, same: STORED, no: undefined } as const
  for (const [about, cells] of Object.entries(expected)) {
    for (const [relation, step] of Object.entries(cells)) {
      const body = cases[relation as keyof typeof cases]
      t.test(`under ${about} of the ${relation} body`, async (t) => {
        const policy = about.split(' ')[0] as 'local_wins'
        const word = /(later|earlier|same|no) (?:item|time)/.exec(about)?.[1]
        const changedAt = times[word as keyof typeof times]
        const skills = new Map([['s', stored(['oldest', 'newest'], body)]])
        const plan = planSync([item('s', body, { changedAt })], skills, { policy, room: 0 })
        t.match(stepsOf(plan), [step])
      })
    }
  }

  t.test('under fail makes skills and names the version in the way of others', async (t) => {
    const options = { policy: 'fail', room: 9 } as const
    t.match(planSync([item('new', 'x')], new Map(), options), { steps: [{ action: 'created' }] })
    for (const [body, version_number] of Object.entries({ newest: 2, oldest: 1, another: 2 })) {
      const skills = new Map([['s', stored(['oldest', 'newest'], body)]])
      const plan = planSync([item('new', 'x'), item('s', body)], skills, options)
      t.match(plan, { conflict: { item: { name: 's' }, version: { version_number } } }, body)
    }
    const skills = new Map([['s', stored(['newest'], '---\n')]])
    const plan = planSync([item('s', '---\n')], skills, options)
    t.match(stepsOf(plan), [{ action: 'failed' }], 'an item that is wrong is in nobody’s way')
  })

  t.test('leaves out what is wrong and nothing else', async (t) => {
    const items = [
      item('Bad_Name', 'x'),
      item('matter', '---\nname: x\n---\nbody'),
      item('large', 'x'.repeat(256 * 1024 + 1)),
      item('hash', 'x', { claimedHash: hashBody('y').toString('hex') }),
      item('fine', '---\n'),
      item('fine', 'x', { claimedHash: hashBody('x').toString('hex').toUpperCase() }),
      item('fine', 'y'),
      item('also-fine', 'x'),
      item('too-many', 'x'),
    ]
    const plan = planSync(items, new Map(), { policy: 'local_wins', room: 2 })
    t.same(stepsOf(plan), [
      { action: 'failed', code: 'invalid_name' },
      { action: 'failed', code: 'frontmatter_in_body' },
      { action: 'failed', code: 'too_large' },
      { action: 'failed', code: 'hash_mismatch' },
      { action: 'failed', code: 'frontmatter_in_body' },
      { action: 'created' },
      { action: 'failed', code: 'duplicate_name' },
      { action: 'created' },
      { action: 'failed', code: 'too_many_skills' },
    ])
  })

  const names = fc.constantFrom('a', 'b', 'c', 'd', 'NO')
  const bodies = fc.constantFrom('one', 'two', 'three', '---\nfront')
  const items = fc.array(
    fc.record({ name: names, body: bodies, changedAt: fc.option(fc.constantFrom(EARLY, LATE)) }),
    { maxLength: 12 },
  )
  const histories = fc.dictionary(
    fc.constantFrom('a', 'b', 'c'),
    fc.array(fc.constantFrom('one', 'two', 'three'), { minLength: 1, maxLength: 4 }),
  )
  const policies = fc.constantFrom(...CONFLICT_POLICIES)

  function planOf(
    sent: readonly { name: string; body: string; changedAt: Date | null }[],
    history: Readonly<Record<string, readonly string[]>>,
    policy: (typeof CONFLICT_POLICIES)[number],
  ) {
    const list = sent.map(({ name, body, changedAt }) =>
      item(name, body, { changedAt: changedAt ?? undefined }),
    )
    const first = chooseItems(list, policy)
    const skills = new Map(
      Object.entries(history).map(([name, each]) => [
        name,
        stored(each, first.get(name)?.body ?? ''),
      ]),
    )
    return planSync(list, skills, { policy, room: 100 })
  }

  t.test('writes each name at most once, and only what differs from the newest', async () => {
    fc.assert(
      fc.property(items, histories, policies, (sent, history, policy) => {
        const steps = stepsOf(planOf(sent, history, policy))
        const written = new Set<string>()
        return steps.every(({ action }, i) => {
          const { name, body } = sent[i] as (typeof sent)[number]
          if (action !== 'created' && action !== 'pushed') return true
          const isNew = !written.has(name)
          written.add(name)
          const newest = history[name]?.at(-1)
          return isNew && (action === 'created') === (newest === undefined) && newest !== body
        })
      }),
    )
  })

  t.test('changes nothing when it is carried out and made again', async () => {
    fc.assert(
      fc.property(items, histories, policies, (sent, history, policy) => {
        const steps = stepsOf(planOf(sent, history, policy))
        const after: Record<string, string[]> = { ...history } as Record<string, string[]>
        for (const [i, { action }] of steps.entries()) {
          const { name, body } = sent[i] as (typeof sent)[number]
          if (action === 'created' || action === 'pushed')
            after[name] = [...(after[name] ?? []), body]
        }
        const isWrite = ({ action }: SyncStep) => action === 'created' || action === 'pushed'
        return !stepsOf(planOf(sent, after, policy)).some(isWrite)
      }),
    )
  })
})
