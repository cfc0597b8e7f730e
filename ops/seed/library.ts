import { BENCHMARK, LIBRARY, SKILL_IN_USE } from '../../jobs/rules/demo/library.ts'
import type { LibrarySkill } from '../../jobs/rules/demo/library.ts'
import type { ApiClient } from '../api-client.ts'

/** Skills with their versions, two of them public, one with what the scan has against it. */
export async function addSkills(client: ApiClient, now: Date) {
  // 409 where the organization has made one of them its own.
  await client.post('/demo/seed-skills', {}, { allowed: [409] })
  for (const skill of LIBRARY) await addSkill(client, skill)
  await reportInstalls(client)
  await rate(client)
  await client.post(`/skills/${SKILL_IN_USE.name}/benchmarks`, { ...BENCHMARK, run_at: now })
}

async function addSkill(client: ApiClient, skill: LibrarySkill) {
  const { name, description, category, versions, published, agent_name } = skill
  const find = async () =>
    (await client.get<{ skills: readonly SkillAnswer[] }>('/skills?limit=500')).skills.find(
      (each) => each.name === name,
    )
  for (const [i, { body, change_summary }] of versions.entries()) {
    const found = await find()
    if ((found?.latest_version.version_number ?? 0) > i) continue
    const version = { body_markdown: body, change_summary, author: 'mira' }
    if (found) await client.post(`/skills/${name}`, version, { method: 'PUT' })
    else await client.post('/skills', { ...version, name, description, category })
    if (published === i + 1) {
      await client.post(`/skills/${name}/publish`, { tags: [category], category })
    }
  }
  if (agent_name) await client.post(`/skills/${name}/assign`, { agent_name })
}

/** Two installations of clients: one is up to date, the other has changed what it holds. */
async function reportInstalls(client: ApiClient) {
  const { name, hash } = SKILL_IN_USE
  for (const [install_id, content_hash] of [
    ['laptop-mira', hash],
    ['ci-runner-2', 'ab'.repeat(32)],
  ]) {
    await client.post('/skills/installs/report', { install_id, skills: [{ name, content_hash }] })
  }
}

/** Ratings of a judge, which carry what the configuration of the rater asks for. */
async function rate(client: ApiClient) {
  const { prompt_sha256 } = await client.get<{ prompt_sha256: string }>(
    '/traces/skill-rater/config',
  )
  const { latest_version: version } = await client.get<SkillAnswer>(`/skills/${SKILL_IN_USE.name}`)
  const { traces } = await client.get<{ traces: readonly TraceAnswer[] }>(
    '/traces?agent_name=billing-agent&limit=200',
  )
  const used = traces.filter(({ active_skills: skills }) => skills.length > 0).slice(0, RATED)
  const scores = used.map(({ trace_id, content_hash, ended_at }, i) => ({
    trace_id,
    source: 'llm_judge',
    name: 'skill_rating',
    score: i % 9 === 8 ? 0.25 : 0.9,
    metadata: {
      rater_model: 'judge-large',
      rater_version: '2',
      prompt_sha256,
      rated_at: ended_at,
      trace_hash: content_hash,
      skill_version_id: version.id,
    },
  }))
  await client.post('/eval-scores', { scores })
}

const RATED = 36

interface SkillAnswer {
  readonly name: string
  readonly latest_version: { readonly id: string; readonly version_number: number }
}
interface TraceAnswer {
  readonly trace_id: string
  readonly content_hash: string
  readonly ended_at: string
  readonly active_skills: readonly object[]
}
