import t from 'tap'
import { parse } from 'yaml'
import type { CardFacts } from '../../../../jobs/rules/datasets/card-facts.ts'
import { cardOf } from '../../../../jobs/rules/datasets/card.ts'
import { columnsOf } from '../../../../jobs/rules/datasets/columns.ts'
import type { RareMember } from '../../../../jobs/rules/datasets/formats.ts'
import { loaderFeatures } from '../../../../jobs/rules/datasets/features.ts'
import { completeRecipe, DATASET_TYPES } from '../../../../jobs/rules/datasets/recipe.ts'

const NAME =
  'a: "b"\n---\n# <img src=x onerror=alert(1)> [x](https://x.test) | www.x.test \u2028\u202e'

const COMPOSITION = {
  verdicts: { keep: 1200, repair: 34 },
  scores: [{ name: 'reward', traces: 30 }],
  length_ratio: 0.2,
  rare_members: [],
}

t.test('the front matter is what hubs read, whatever the name of the dataset', (t) => {
  const [matter] = split(cardOf(factsOf({ dataset_name: NAME, license: 'cc-by-4.0' })))
  t.match(matter, {
    license: 'cc-by-4.0',
    pretty_name: NAME,
    task_categories: ['text-generation'],
    size_categories: ['1K<n<10K'],
    configs: [
      {
        config_name: 'default',
        data_files: [
          { split: 'train', path: 'data/train-*.parquet' },
          { split: 'test', path: 'data/test-*.parquet' },
        ],
      },
    ],
  })
  t.same(matter.dataset_info.splits, [
    { name: 'train', num_bytes: 700, num_examples: 1100 },
    { name: 'test', num_bytes: 90, num_examples: 134 },
  ])
  t.match(matter.dataset_info, { download_size: 73, dataset_size: 790 })
  t.end()
})

t.test('its features are those of the Parquet files', (t) => {
  const rare: RareMember[] = ['content_parts', 'refusal', 'reasoning_content']
  const formats = ['openai', 'trl', 'sharegpt'] as const
  const all = DATASET_TYPES.flatMap((type) =>
    formats
      .filter((format) => type === 'sft' || format !== 'sharegpt')
      .flatMap((format) => [[], rare].map((members) => ({ type, format, members }))),
  )
  for (const { type, format, members } of all) {
    const recipe = completeRecipe(type, null, { options: { format } })
    const composition = { verdicts: {}, scores: [], length_ratio: null, rare_members: members }
    const [matter] = split(cardOf(factsOf({ dataset_type: type, recipe, composition })))
    const inFile = JSON.parse(loaderFeatures(columnsOf(recipe, members)))
    t.same(loaded(matter.dataset_info.features), inFile.info.features, `${type} ${format}`)
  }
  t.end()
})

t.test('features that are not known are left out, and so are splits without rows', (t) => {
  const [matter] = split(cardOf(factsOf({ composition: null, files: [], row_count: 0 })))
  t.match(matter, { size_categories: ['n<1K'], configs: undefined })
  t.same(matter.dataset_info, { splits: [], download_size: 0, dataset_size: 0 })
  t.end()
})

t.test('names of clients are no Markdown and no HTML', (t) => {
  const [, body] = split(
    cardOf(
      factsOf({
        dataset_name: NAME,
        policy: { decision_policies: [{ agent_name: NAME, version: 1, traces: 2 }] },
        manifests: [
          { agent_name: NAME, version_number: 2, display_label: NAME, manifest_hash: 'sha256:ab' },
        ],
        composition: { ...COMPOSITION, scores: [{ name: NAME, traces: 3 }] },
      }),
    ),
  )
  const shown =
    'a\\: \\"b\\" \\-\\-\\- \\# \\<img src\\=x onerror\\=alert\\(1\\)\\> \\[x\\]\\(https\\:\\/\\/x\\.test\\) \\| www\\.x\\.test'
  t.ok(body.startsWith(`# ${shown} v3\n`))
  t.equal(body.split(shown).length - 1, 5)
  t.notMatch(body, /[\u2028\u202e]|[^\\]<img|[^\\]\]\(http/)
  t.end()
})

t.test('the body says what the rows are and what was done to them', (t) => {
  const [, body] = split(cardOf(factsOf({})))
  for (const line of [
    '| Type | sft: conversations to learn from |',
    '| Content hash | `c0ffee` |',
    '| Built | 2026-01-02T03:04:05.678Z |',
    '| train | 1100 | 0.9 |',
    '| keep | 1200 |',
    '| agent | 2 | 400 |',
    '| agent | v4 | new label | `sha256:ab` |',
    'And 6 further ones.',
    '| reward | 30 |',
    '| filtered\\.tags | 5 |',
    '| reasoning\\_dropped | 7 |',
    '- `length_bias`: Chosen turns are longer',
    '12 rows were changed.',
    '| email | 20 |',
  ]) {
    t.ok(body.includes(`\n${line}\n`), line)
  }
  t.match(body, '1.22 times as long as rejected ones (mean log ratio 0.200)')
  t.match(body, 'dealt by their hash with seed 7.')
  t.end()
})

t.test('filters are redacted as the rows are', (t) => {
  const request = {
    filters: { tags: ['ann@example.com'] },
    options: { redact: ['email'] as const },
  }
  const recipe = completeRecipe('sft', null, request)
  t.notMatch(cardOf(factsOf({ recipe })), 'ann@example.com')
  const plain = completeRecipe('sft', null, { filters: request.filters })
  t.match(cardOf(factsOf({ recipe: plain })), 'ann@example.com')
  t.end()
})

t.test('the same facts give the same bytes, in whatever order their counts come', (t) => {
  const facts = factsOf({ dropped_counts: { a: 1, b: 2 } })
  t.equal(cardOf(facts), cardOf({ ...facts, dropped_counts: { b: 2, a: 1 } }))
  t.end()
})

t.test('a limit is named only where it is one', (t) => {
  const body = (facts: Partial<CardFacts>) => split(cardOf(factsOf(facts)))[1]
  t.match(body({}), 'Redaction knows values by their form')
  t.match(body({}), 'The ids of traces, sessions and tasks are as the agents gave them')
  t.match(body({ redaction: null }), 'Rows may hold personal data')
  t.match(body({ redaction: null }), 'Nothing was redacted.')
  t.match(body({}), 'Splits keep tasks and sessions apart')
  const split_counts = { train: 5, validation: 0, test: 0 }
  t.notMatch(body({ split_counts }), 'Splits keep tasks and sessions apart')
  t.end()
})

function factsOf(facts: Partial<CardFacts>): CardFacts {
  return {
    dataset_name: 'shop',
    license: 'other',
    dataset_type: 'sft',
    version_id: '0199',
    version_number: 3,
    ready_at: new Date('2026-01-02T03:04:05.678Z'),
    recipe: completeRecipe('sft', 'agent', { split: { train: 0.9, test: 0.1 }, seed: 7 }),
    content_hash: 'c0ffee',
    row_count: 1234,
    token_estimate: 5000,
    split_counts: { train: 1100, validation: 0, test: 134 },
    dropped_counts: { 'filtered.tags': 5 },
    losses: { reasoning_dropped: 7 },
    warnings: [{ code: 'length_bias', message: 'Chosen turns are longer' }],
    policy: { decision_policies: [{ agent_name: 'agent', version: 2, traces: 400 }] },
    redaction: { ruleset: 'beef', counts: { email: 20 }, rows: 12 },
    composition: COMPOSITION,
    files: [
      { format: 'jsonl', split: 'train', row_count: 1000, size_bytes: 600 },
      { format: 'jsonl', split: 'train', row_count: 100, size_bytes: 100 },
      { format: 'jsonl', split: 'validation', row_count: 0, size_bytes: 0 },
      { format: 'jsonl', split: 'test', row_count: 134, size_bytes: 90 },
      { format: 'parquet', split: 'train', row_count: 1234, size_bytes: 73 },
    ],
    manifests: [
      {
        agent_name: 'agent',
        version_number: 4,
        display_label: 'new label',
        manifest_hash: 'sha256:ab',
      },
    ],
    manifest_count: 7,
    ...facts,
  }
}

/** The front matter as a YAML reader takes it, and the Markdown below. */
function split(card: string) {
  const [, matter = '', body = ''] = /^---\n([^]*?\n)---\n\n([^]*)$/.exec(card) ?? []
  return [parse(matter), body] as const
}

/** Features of a card as dataset loaders make them those of a file. */
function loaded(features: CardFeature[]): object {
  return Object.fromEntries(features.map(({ name, ...type }) => [name, loadedType(type)]))
}

function loadedType({ dtype, list, struct }: Omit<CardFeature, 'name'>): object {
  if (struct) return loaded(struct)
  if (list) {
    const item = typeof list === 'string' ? { dtype: list } : { struct: list }
    return { feature: loadedType(item), _type: 'List' }
  }
  return dtype === 'json' ? { _type: 'Json' } : { dtype, _type: 'Value' }
}

interface CardFeature {
  name: string
  dtype?: string
  list?: string | CardFeature[]
  struct?: CardFeature[]
}
