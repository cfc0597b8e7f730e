import { createHash } from 'node:crypto'
import t from 'tap'
import { makeBilling } from '../../../../jobs/rules/demo/billing-history.ts'
import { makeImpact } from '../../../../jobs/rules/demo/impact.ts'
import { LIBRARY, SKILL_IN_USE } from '../../../../jobs/rules/demo/library.ts'
import { DEMO_SKILLS, makeSkillTraces } from '../../../../jobs/rules/demo/skills.ts'
import { makeDemo } from '../../../../jobs/rules/demo/traces.ts'
import { makeTriage } from '../../../../jobs/rules/demo/triage.ts'
import { faultOfBody, isSkillName, trimBody } from '../../../../jobs/rules/skills/skill.ts'

const NOW = new Date('2026-02-03T04:05:06Z')

t.test('samples are the same at every call, but for the times', async (t) => {
  for (const make of [makeDemo, makeBilling, makeTriage, makeImpact, makeSkillTraces]) {
    // As text, because comparing large objects takes a minute.
    const [made, again, earlier] = [NOW, NOW, new Date(0)].map((now) => JSON.stringify(make(now)))
    t.ok(made === again)
    t.ok(made !== earlier)
    t.ok(withoutTimes(made) === withoutTimes(earlier))
  }
})

t.test('no two of the samples are a trace of one id, or one conversation', async (t) => {
  const traces: readonly Record<string, unknown>[] = [
    ...makeDemo(NOW).traces.filter(isFirst),
    ...makeBilling(NOW).stages.flatMap(({ traces: of }) => of.filter(isFirst)),
    ...makeTriage(NOW).traces,
    ...makeImpact(NOW).traces,
    ...makeSkillTraces(NOW),
  ]
  t.equal(new Set(traces.map((trace) => trace['trace_id'])).size, traces.length)
  const calls = traces.map((trace) => trace['llm_calls'] as readonly Call[])
  const conversations = calls.map((made) => JSON.stringify(made.map(said)))
  t.equal(new Set(conversations).size, traces.length)
})

t.test('the demo skills can be stored as they are', async (t) => {
  const library = LIBRARY.flatMap(({ name, description, versions }) =>
    versions.map(({ body }) => ({ name, description, body })),
  )
  for (const { name, body, description } of [...DEMO_SKILLS, ...library]) {
    t.ok(isSkillName(name))
    t.equal(trimBody(body), body)
    t.equal(faultOfBody(body), undefined)
    t.ok(description.length <= 200)
  }
})

t.test('traces name a skill of the library by the hash of its newest body', async (t) => {
  const used = LIBRARY.find(({ name }) => name === SKILL_IN_USE.name)
  const { body = '' } = used?.versions.at(-1) ?? {}
  t.equal(SKILL_IN_USE.hash, createHash('sha256').update(body).digest('hex'))
})

function isFirst({ trace_id: id }: { trace_id: string }) {
  return !id.endsWith('-again')
}

/** What a model was told and what it answered. */
function said({ rendered_input: [, ...told], output }: Call) {
  return [told, output]
}

/** Of a text of JSON. */
function withoutTimes(json = '') {
  return json.replaceAll(/"\d{4}-[^"]*Z"/g, '"time"')
}

interface Call {
  readonly rendered_input: readonly object[]
  readonly output: object
}
