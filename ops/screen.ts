import { adminCommand } from './admin-command.ts'

export interface Screen {
  readonly address: string
  /** Where the console is, or a link that signs in. */
  readonly console: string
  readonly dataDir: string
  /** Id of the organization whose key it is. */
  readonly organization: string
  /** Undefined when this start does not know it. */
  readonly key: string | undefined
  /** A dataset to build and read; without one, the lines make one. */
  readonly dataset: { id: string; name: string } | undefined
}

/** What a start ends with: where everything is, and five lines that work when pasted in their order. */
export function renderScreen(screen: Screen): string {
  const { address, organization, key } = screen
  const facts = [
    ['Address', address],
    ['Console', screen.console],
    ['Docs', `${address}/docs`],
    [
      'API key',
      key ?? `the one you keep; another one: ${adminCommand(`key create --org ${organization}`)}`,
    ],
    ['Data', screen.dataDir],
    ['Stop', 'Ctrl-C'],
  ]
  return [
    '',
    ...facts.map(([name, value]) => `  ${name?.padEnd(8)} ${value}`),
    '',
    ...curlLines({ ...screen, key: key ?? 'YOUR_KEY' }).flatMap(([what, line]) => [
      `  # ${what}`,
      `  ${line}`,
    ]),
    '',
  ].join('\n')
}

function curlLines({ address, key, dataset }: Screen & { key: string }) {
  const curl = `curl -s -H 'Authorization: Bearer ${key}'`
  const base = `${address}/api/v1`
  const post = (path: string, body: string) =>
    `${curl} -H 'Content-Type: application/json' ${base}${path} -d '${body}'`
  const create = post('/datasets', `{"name":"first-'$(date +%s)'","dataset_type":"sft"}`)
  const id = dataset?.id ?? '$DATASET'
  const make = dataset ? '' : `DATASET=$(${create} | sed 's/.*"id":"\\([^"]*\\)".*/\\1/'); `
  const file = `${dataset?.name ?? 'first'}.parquet`
  return [
    ['List traces', `${curl} '${base}/traces?limit=3'`],
    ['Push a trace', post('/traces', JSON.stringify(TRACE))],
    [
      'Ask what to do with it, and why',
      `${curl} -X POST ${base}/traces/${TRACE.trace_id}/decision`,
    ],
    ['Build a version of a dataset', `${make}${post(`/datasets/${id}/build`, '{}')}`],
    [
      'Download it as Parquet',
      `${curl} -L "${base}/datasets/${id}/versions/latest/export?format=parquet" -o ${file}`,
    ],
  ] as const
}

const TRACE = {
  trace_id: 'hello-1',
  agent_name: 'my-agent',
  user_input_preview: 'What is 6 times 7?',
  final_output_preview: '6 times 7 is 42.',
}
