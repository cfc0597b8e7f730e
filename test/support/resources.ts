import { randomBytes, randomUUIDv7 } from 'node:crypto'
import { insertTasks } from '../../sql/replay/replay-tasks.ts'
import type { Service } from './service.ts'
import { makeTestKey } from './service.ts'

/**
 * One resource of every kind that paths name, made through the interface, in the default project.
 * Returns the value of each path parameter; an operation with a parameter that is not here fails the
 * tests that need it.
 */
export async function makeSamples(
  service: Service,
  org: { orgId: string; key: string },
): Promise<Readonly<Record<string, string>>> {
  const { post } = service.client(org.key)
  async function make(path: string, body: unknown, member = 'id') {
    const answer = await post(path, body, { prefer: 'respond-async' })
    if (answer.status >= 300)
      throw new Error(`POST ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return String(answer.body[member])
  }
  await service.sql`
    insert into notification_settings (org_id, webhook_url)
    values (${org.orgId}, 'https://receiver.invalid/')
    on conflict (org_id) do update set webhook_url = excluded.webhook_url`
  const { default: project } = await projectsOf(service, org.key)
  const key = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
  const session_id = randomUUIDv7()
  await service.sql`
    insert into sessions (org_id, key_id, id, token_hash, expires_at)
    values (${org.orgId}, ${key.id}, ${session_id}, ${randomBytes(32)}, now() + interval '1 hour')`
  const manifest = (version: string) => ({
    agent_name: AGENT,
    components: [{ component_type: 'tool', component_name: 'search', component_version: version }],
  })
  const earlier = await make('/manifests', manifest('1'), 'manifest_id')
  const manifest_id = await make('/manifests', manifest('2'), 'manifest_id')
  const trace = { trace_id: 'sample-trace', agent_name: AGENT, manifest_id: earlier }
  const trace_id = await make('/traces', { ...trace, status: 'success', final_output_preview: 'x' })
  const dataset_id = await make('/datasets', { name: 'sample', dataset_type: 'sft' })
  const replay_batch_id = await make('/replay/batches', {
    target_manifest_id: manifest_id,
    trace_ids: [trace_id],
  })
  const task_id = randomUUIDv7()
  await insertTasks(service.sql, org.orgId, replay_batch_id, [
    { id: task_id, ordinal: 0, trace_id, replayability: 'full', reason: null },
  ])
  const finding_id = randomUUIDv7()
  await service.sql`
    insert into regression_findings (org_id, project_id, id, agent_name, metric, ordinal, manifest_id,
      version_label, candidates, delta, p_value, q_value, trace_sample_ids, reference, detected_at)
    values (${org.orgId}, ${project as string}, ${finding_id}, ${AGENT}, 'quality_avg', 2, ${manifest_id},
      'v2', '{v2}', -0.5, 0.001, 0.001, '{}', '{}', now())`
  const skill_name = 'sample-skill'
  const skill_id = await make('/skills', { name: skill_name, body_markdown: 'x' })
  const path = 'sample.md'
  return {
    key_id: key.id,
    session_id,
    trace_id,
    evaluator_id: await make('/evaluators', { name: 'sample', type: 'json_valid' }),
    manifest_id,
    report_id: await make(
      `/manifests/${manifest_id}/compatibility/run`,
      { old_manifest_id: earlier },
      'report_id',
    ),
    check_id: await make('/regression-check', {
      agent_name: AGENT,
      candidate_manifest_id: manifest_id,
    }),
    finding_id,
    repair_batch_id: await make(
      '/repair/apply',
      { old_manifest_id: earlier, new_manifest_id: manifest_id },
      'batch_id',
    ),
    dataset_id,
    version: await make(`/datasets/${dataset_id}/build`, {}, 'version_id'),
    import_id: await make('/import/traces', { traces: [] }, 'import_id'),
    job_id: await make('/import/traces', { traces: [] }, 'job_id'),
    replay_batch_id,
    task_id,
    delivery_id: await make('/org/notifications/test', {}),
    skill_id,
    skill_name,
    version_number: '1',
    attachment_id: await make(`/skills/${skill_name}/attachments`, { path, content: 'x' }),
    path,
    agent_name: AGENT,
    processor: 'stripe',
  }
}

async function projectsOf({ client }: Service, key: string) {
  const { body } = await client(key).get('/projects')
  return Object.fromEntries(
    body.projects.map(({ name, id }: { name: string; id: string }) => [name, id]),
  ) as Record<string, string>
}

const AGENT = 'sample-agent'
