import { randomUUID } from 'node:crypto'
import t from 'tap'
import { completeRecipe } from '../../../../jobs/rules/datasets/recipe.ts'
import { policyHash, resolvePolicy } from '../../../../jobs/rules/evals/decision-policy.ts'
import type { Transaction } from '../../../../sql/core/db.ts'
import { insertVersion } from '../../../../sql/datasets/versions.ts'
import { insertPolicyVersion } from '../../../../sql/evals/decision-policies.ts'
import { restoreHandler } from '../../../../workers/import/backup/restore-backup.ts'
import { openRestores } from '../../../support/backup/restores.ts'
import { skillLine, versionLine } from '../../../support/backup/skill-lines.ts'
import { backupOf } from '../../../support/backup-lines.ts'
import type { TestLine } from '../../../support/backup-lines.ts'
import { countLockWaits } from '../../../support/lock-waits.ts'
import { openService } from '../../../support/service.ts'
import { until } from '../../../support/until.ts'

t.test('versions of a backup beside those of the organization', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const restore = openRestores(t, service)
  // Lines about one thing are cut into several chunks.
  await service.startWorkers([restoreHandler({ chunkBytes: 100 })])
  const policies = [0.81, 0.82, 0.83, 0.84].map(policyLine)
  const skills = [
    skillLine('tidy'),
    ...['one', 'two', 'three'].map((body, i) =>
      versionLine('tidy', { body, version_number: i + 1 }),
    ),
  ]
  const versions = async ({ orgId }: { orgId: string }) => {
    const ofPolicies = await sql`
      select settings->'keep_at' as what from decision_policies where org_id = ${orgId} order by version`
    const ofSkills = await sql`
      select body as what from skill_versions where org_id = ${orgId} order by version_number`
    return [ofPolicies.map(({ what }) => what), ofSkills.map(({ what }) => what)]
  }

  await t.test('are not put on top of others', async (t) => {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    await client.put('/decision-policy', { thresholds: { keep_at: 0.9 } })
    await client.post('/skills', { name: 'tidy', body_markdown: 'one' })
    await client.put('/skills/tidy', { body_markdown: 'own' })
    const ended = await restore(backupOf([...policies, ...skills]), org)
    t.match(ended.shown, { status: 'succeeded', error_count: 0, losses: { conflict: 6 } })
    t.same(await versions(org), [[0.9], ['one', 'own']])
  })

  await t.test('come after those that are there as the backup has them', async (t) => {
    const first = await restore(backupOf([...policies.slice(0, 2), ...skills.slice(0, 2)]))
    t.match(first.shown, { status: 'succeeded', losses: {} })
    const whole = backupOf([...policies, ...skills])
    t.match((await restore(whole, first)).shown, { status: 'succeeded', losses: {} })
    const all = [
      [0.81, 0.82, 0.83, 0.84],
      ['one', 'two', 'three'],
    ]
    t.same(await versions(first), all)
    t.match((await restore(whole, first)).shown, { losses: {} })
    t.same(await versions(first), all)
  })

  await t.test('stay away where the organization went on by itself', async (t) => {
    const first = await restore(backupOf([...policies.slice(0, 2), ...skills.slice(0, 2)]))
    const client = service.client(first.key)
    await client.put('/decision-policy', { thresholds: { keep_at: 0.9 } })
    await client.put('/skills/tidy', { body_markdown: 'own' })
    const ended = await restore(backupOf([...policies, ...skills]), first)
    t.match(ended.shown, { status: 'succeeded', losses: { conflict: 4 } })
    t.same(await versions(first), [
      [0.81, 0.82, 0.9],
      ['one', 'own'],
    ])
  })

  /** Restores a backup while `add` has added a version of the organization's own and not committed it. */
  async function restoreDuring(
    org: Awaited<ReturnType<typeof service.makeOrganization>>,
    add: (tx: Transaction) => Promise<unknown>,
    lines: readonly TestLine[],
  ) {
    const { promise: ended } = await sql.begin(async (tx: Transaction) => {
      await add(tx)
      const promise = restore(backupOf(lines), org)
      await until(async () => (await countLockWaits(sql)) > 0)
      return { promise }
    })
    return (await ended).shown
  }

  await t.test('are not put on top of a policy that is set in the same moment', async (t) => {
    const org = await service.makeOrganization()
    const policy = {
      agent_name: '',
      settings: resolvePolicy({ thresholds: { keep_at: 0.9 } }),
      created_by: org.keyId,
    }
    const add = (tx: Transaction) => insertPolicyVersion(tx, org.orgId, org.projectId, policy)
    t.match(await restoreDuring(org, add, policies), {
      status: 'succeeded',
      losses: { conflict: 4 },
    })
    t.same(await versions(org), [[0.9], []])
  })

  await t.test('are not put on top of one that is built in the same moment', async (t) => {
    const org = await service.makeOrganization()
    const { orgId, projectId } = org
    const made = await service.client(org.key).post('/datasets', { name: 'd', dataset_type: 'sft' })
    const [id, job_id] = [randomUUID(), randomUUID()]
    await sql`
      insert into jobs (org_id, id, project_id, kind, queue_job_id)
      values (${orgId}, ${job_id}, ${projectId}, 'dataset.build', ${job_id})`
    const version = {
      org_id: orgId,
      dataset_id: made.body.id as string,
      id,
      job_id,
      recipe,
      filter_hash: '',
      created_by: org.keyId,
    }
    const add = (tx: Transaction) => insertVersion(tx, version)
    const lines = [1, 2, 3].map(datasetVersionLine)
    t.match(await restoreDuring(org, add, lines), { status: 'succeeded', losses: { conflict: 3 } })
    const stored = await sql`select id from dataset_versions where org_id = ${orgId}`
    t.same(
      stored.map((row) => row['id']),
      [id],
    )
  })
})

const recipe = completeRecipe('sft', null, {})

function datasetVersionLine(version_number: number): TestLine {
  return {
    kind: 'dataset_version',
    project: 'default',
    dataset: 'd',
    id: randomUUID(),
    version_number,
    recipe,
    filter_hash: 'f',
    manifests: [],
    content_hash: 'c',
    row_count: 0,
    losses: {},
    warnings: [],
    near_duplicates: [],
    created_at: '2026-03-01T10:00:00.000Z',
    ready_at: '2026-03-01T10:00:00.000Z',
  }
}

function policyLine(keep_at: number, i: number): TestLine {
  const settings = resolvePolicy({ thresholds: { keep_at } })
  return {
    kind: 'decision_policy',
    project: 'default',
    agent_name: '',
    version: i + 1,
    preset: 'default',
    settings,
    content_hash: policyHash(settings),
    created_by: randomUUID(),
    created_at: '2026-03-01T10:00:00.000Z',
  }
}
