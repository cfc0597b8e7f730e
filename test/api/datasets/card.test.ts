import { parquetMetadata } from 'hyparquet'
import t from 'tap'
import { parse } from 'yaml'
import { buildDataset, openDatasetService, pathOf } from '../../support/built-dataset.ts'
import type { Version } from '../../support/built-dataset.ts'
import { hello } from '../../support/stored-traces.ts'

const SECRET = 'The text of a trace that nobody may read'

t.test('the card of a version', async (t) => {
  const { service, openOrganization } = await openDatasetService(t)
  const org = await openOrganization([
    ...Array.from({ length: 20 }, (_, n) => ({
      trace_id: `t-${n}`,
      task_id: `task ${n}`,
      messages: hello(`${SECRET} ${n}`),
    })),
    {
      trace_id: 'parts',
      task_id: 'parts',
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'one' },
            { type: 'text', text: 'two' },
          ],
        },
        { role: 'assistant', content: null, refusal: 'I will not' },
      ],
    },
    { trace_id: 'bad', task_id: 'bad', quality: 0 },
  ])
  const { api, key } = org
  const split = { train: 0.6, validation: 0.2, test: 0.2 }
  const version = await buildDataset(api, 'sft', { split })
  const read = async (of = version, client = api) => client.get(`${pathOf(of)}/card`)

  t.test('counts what the files have, with columns as they have them', async (t) => {
    const { status, headers, body } = await read()
    t.equal(status, 200)
    t.equal(headers['content-type'], 'text/markdown; charset=utf-8')
    const matter = frontMatter(body)
    t.match(matter, { license: 'other', size_categories: ['n<1K'] })
    const file = await firstParquet(version)
    const { key_value_metadata: metadata = [] } = parquetMetadata(file)
    const { value = '' } = metadata.find(({ key: name }) => name === 'huggingface') ?? {}
    const inFile = JSON.parse(value).info.features
    const names = matter.dataset_info.features.map(({ name }: { name: string }) => name)
    t.same(names, Object.keys(inFile))
    t.same(
      matter.dataset_info.features[0].list.map(({ name }: { name: string }) => name),
      Object.keys(inFile.messages.feature),
    )
    t.same(Object.keys(inFile.messages.feature).slice(-2), ['content_parts', 'refusal'])
    const lines = version.files.filter(({ format }) => format === 'jsonl')
    t.same(
      matter.dataset_info.splits,
      lines.map(({ split: name, size_bytes, row_count }) => ({
        name,
        num_bytes: size_bytes,
        num_examples: row_count,
      })),
    )
    t.match(body, `| Content hash | \`${version.content_hash}\` |`)
    t.match(body, '| keep | 21 |')
    t.match(body, '| reward | 21 |')
    t.match(body, '| filtered\\.verdicts | 1 |')
    t.match(body, 'Nothing was redacted.')
  })

  t.test('has the same bytes each time, until the dataset is renamed', async (t) => {
    const [once, again] = [await read(), await read()]
    t.equal(once.body, again.body)
    const name = 'a: "new" | name\n# x'
    await api.patch(`/datasets/${version.dataset_id}`, { name, license: 'cc-by-4.0' })
    const { body } = await read()
    t.match(frontMatter(body), { license: 'cc-by-4.0', pretty_name: name })
    t.match(body, '\n# a\\: \\"new\\" \\| name \\# x v1\n')
  })

  t.test('holds no text of a trace, no key and no name of the organization', async (t) => {
    await service.sql`
      update organizations set name = 'Acme Secretive' where id = ${org.orgId}`
    const { body } = await read()
    for (const told of [SECRET, 'I will not', key, 'Acme Secretive']) t.notMatch(body, told)
  })

  t.test('of pairs tells how long chosen turns are', async (t) => {
    const said = (content: string) => [
      { role: 'user', content: 'Why?' },
      { role: 'assistant', content },
    ]
    const { api: client } = await openOrganization([
      { trace_id: 'good', task_id: 'task', quality: 1, messages: said('Because it is so') },
      { trace_id: 'bad', task_id: 'task', quality: 0, messages: said('Who knows?') },
    ])
    const { body } = await read(await buildDataset(client, 'dpo'), client)
    t.match(body, '1.60 times as long as rejected ones (mean log ratio 0.470)')
    t.match(body, '- `length_bias`: ')
  })

  t.test('is of ready versions only, and of those one may see', async (t) => {
    const other = await openOrganization([])
    t.equal((await read(version, other.api)).status, 404)
    const started = await api.post(
      `/datasets/${version.dataset_id}/build`,
      { filters: { tags: ['none'] } },
      { prefer: 'wait=50' },
    )
    t.match(frontMatter((await read(started.body)).body), { configs: undefined })
    await service.sql`
      update dataset_versions set ready_at = null, content_hash = null, row_count = null
      where id = ${started.body.id}`
    t.equal((await read(started.body)).status, 409)
  })

  async function firstParquet(of: Version) {
    const { rawPayload } = await service.server.inject({
      url: `/api/v1${pathOf(of)}/export?format=parquet&split=train`,
      headers: { authorization: `Bearer ${key}` },
    })
    const bytes = rawPayload as Uint8Array
    return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
  }
})

function frontMatter(card: string) {
  const [, matter = ''] = /^---\n([^]*?\n)---\n/.exec(card) ?? []
  return parse(matter)
}
