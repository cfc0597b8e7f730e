import { globSync, readFileSync } from 'node:fs'
import t from 'tap'
import { openService } from '../../support/service.ts'

t.test('traces indexed before there were stems are found by them', async (t) => {
  const service = await openService(t)
  const { sql } = service
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const trace = { id: 'old', agent_name: 'a', status: 'running', user_input_preview: 'Two refunds' }
  await client.post('/traces', trace)
  await client.post('/traces/batch-decision', { trace_ids: ['old'] })
  await sql`update trace_search set document = to_tsvector('simple', 'Two refunds')`
  const find = async () => (await client.get('/traces?q=refunded')).body.total as number
  t.equal(await find(), 0)

  await sql.unsafe(`
    drop function search_document;
    drop text search configuration stems;
    drop text search dictionary english_stems`)
  const [migration = ''] = globSync('sql/migrations/*-stemmed-search.sql')
  await sql.begin((tx) => tx.unsafe(readFileSync(migration, 'utf8')))
  t.equal(await find(), 1)
})
