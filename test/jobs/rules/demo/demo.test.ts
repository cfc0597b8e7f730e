import t from 'tap'
import { makeImpact } from '../../../../jobs/rules/demo/impact.ts'
import { DEMO_SKILLS, makeSkillTraces } from '../../../../jobs/rules/demo/skills.ts'
import { makeDemo } from '../../../../jobs/rules/demo/traces.ts'
import { faultOfBody, isSkillName, trimBody } from '../../../../jobs/rules/skills/skill.ts'

const NOW = new Date('2026-02-03T04:05:06Z')

t.test('samples are the same at every call, but for the times', async (t) => {
  for (const make of [makeDemo, makeImpact, makeSkillTraces]) {
    // As text, because comparing large objects takes a minute.
    const [made, again, earlier] = [NOW, NOW, new Date(0)].map((now) => JSON.stringify(make(now)))
    t.ok(made === again)
    t.ok(made !== earlier)
    t.ok(withoutTimes(made) === withoutTimes(earlier))
  }
})

t.test('no two of the samples are a trace of one id, or one conversation', async (t) => {
  const traces: readonly Record<string, unknown>[] = [
    ...makeDemo(NOW).traces.filter(({ trace_id: id }) => !id.endsWith('-again')),
    ...makeImpact(NOW).traces,
    ...makeSkillTraces(NOW),
  ]
  t.equal(new Set(traces.map((trace) => trace['trace_id'])).size, traces.length)
  const calls = traces.map((trace) => trace['llm_calls'] as readonly Call[])
  const conversations = calls.map((made) => JSON.stringify(made.map(({ output }) => output)))
  t.equal(new Set(conversations).size, traces.length)
})

t.test('the demo skills can be stored as they are', async (t) => {
  for (const { name, body, description } of DEMO_SKILLS) {
    t.ok(isSkillName(name))
    t.equal(trimBody(body), body)
    t.equal(faultOfBody(body), undefined)
    t.ok(description.length <= 200)
  }
})

/** Of a text of JSON. */
function withoutTimes(json = '') {
  return json.replaceAll(/"\d{4}-[^"]*Z"/g, '"time"')
}

interface Call {
  readonly output: object
}
