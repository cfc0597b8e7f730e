import t from 'tap'
import { makeImpact } from '../../../../jobs/rules/demo/impact.ts'
import { DEMO_SKILLS, makeSkillTraces } from '../../../../jobs/rules/demo/skills.ts'
import { makeDemo } from '../../../../jobs/rules/demo/traces.ts'
import { faultOfBody, isSkillName, trimBody } from '../../../../jobs/rules/skills/skill.ts'

const NOW = new Date('2026-02-03T04:05:06Z')

t.test('samples are the same at every call, but for the times', async (t) => {
  for (const make of [makeDemo, makeImpact, makeSkillTraces]) {
    t.same(make(NOW), make(NOW))
    t.notSame(make(NOW), make(new Date(0)))
  }
})

t.test('no two of the samples are a trace of one id, or one conversation', async (t) => {
  const traces = [
    ...makeDemo(NOW).traces.filter(({ trace_id: id }) => !id.endsWith('-again')),
    ...makeImpact(NOW).traces,
    ...makeSkillTraces(NOW),
  ]
  t.equal(new Set(traces.map(({ trace_id: id }) => id)).size, traces.length)
  const conversations = traces
    .slice(-60)
    .map(({ llm_calls: calls }) => JSON.stringify((calls as { output: object }[]).at(-1)?.output))
  t.equal(new Set(conversations).size, 60)
})

t.test('the demo skills can be stored as they are', async (t) => {
  for (const { name, body, description } of DEMO_SKILLS) {
    t.ok(isSkillName(name))
    t.equal(trimBody(body), body)
    t.equal(faultOfBody(body), undefined)
    t.ok(description.length <= 200)
  }
})
