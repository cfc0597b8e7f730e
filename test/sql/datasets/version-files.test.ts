import t from 'tap'
import type { Transaction } from '../../../sql/core/db.ts'
import { listFiles, publishVersion } from '../../../sql/datasets/versions.ts'
import type { FileRow, ReadyFacts } from '../../../sql/datasets/versions.ts'
import { openService } from '../../support/service.ts'
import { storeVersion } from '../../support/stored-version.ts'

t.test('a version may have thousands of files', async (t) => {
  const { sql, makeOrganization } = await openService(t)
  const org = await makeOrganization()
  const id = await storeVersion(sql, org, 1)
  await sql`
    update dataset_versions set ready_at = null, content_hash = null, row_count = null where id = ${id}`
  const files = Array.from({ length: 7000 }, (_, shard): FileRow => {
    const path = `data/train-${shard}.jsonl`
    const facts = { size_bytes: 2 ** 40 + shard, sha256: String(shard) }
    return {
      format: 'jsonl',
      split: 'train',
      shard,
      path,
      storage_key: path,
      row_count: 1,
      ...facts,
    }
  })
  const published = await sql.begin((tx: Transaction) =>
    publishVersion(tx, org.orgId, id, FACTS, files),
  )
  t.ok(published)
  const listed = await listFiles(sql, org.orgId, [id])
  t.same(
    listed.map(({ version_id: _, ...file }) => file),
    files,
  )
})

const FACTS = {
  manifest_ids: [],
  content_hash: 'x',
  row_count: 1,
  split_counts: { train: 1, validation: 0, test: 0 },
  dropped_counts: {},
  token_estimate: 1,
  policy: null,
  streams: {},
  losses: {},
  warnings: [],
  redaction: null,
  near_duplicates: [],
  composition: {},
  trace_months: {},
  funnel: null,
  lengths: null,
} as unknown as ReadyFacts
