/** What a person runs to measure the service. */
export interface BenchProgram {
  readonly name: string
  readonly file: string
  /** Beside the usual options. */
  readonly args: readonly string[]
  readonly measures: string
  /** What it is compared with, in the same run. */
  readonly ceiling: string
  readonly aim: string
}

/**
 * Every bench, in the order of the documentation. Each takes `--smoke`, with which it runs whole in a few
 * seconds, and reports figures (see `report`).
 */
export const BENCHES: readonly BenchProgram[] = [
  bench('scale', 'every list, filter and stat at 10,000, 100,000 and 1,000,000 traces', {
    ceiling: 'the same request at the smallest size',
    aim: 'buffers 3 times, p99 100 ms',
  }),
  bench('scale-load', 'the same requests while 200 traces a second come in', {
    file: 'scale',
    args: ['--load', '600'],
    ceiling: 'none',
    aim: 'p99 100 ms',
  }),
  bench('console', 'every page of the console over 100,000 traces', {
    ceiling: 'listing 50 traces over the interface',
    aim: 'p95 150 ms, 80 kB, one token',
  }),
  bench('contents', 'writing, keeping and opening a trace of nine growing calls', {
    ceiling: 'the same conversation in one call',
    aim: 'open 1.5 times, bytes 1.2',
  }),
  bench('ingest', 'taking in traces, one a request and batched', {
    ceiling: 'a bare hapi route that does one INSERT',
    aim: '0.55 one a request, 0.45 in batches',
  }),
  bench('import', 'importing a file over HTTP, and importing it again', {
    ceiling: 'raw COPY of the file into an unlogged text table, uncompressed; the first import',
    aim: '0.35; 4 times for last calls',
  }),
  bench('import-spans', 'importing spans of another platform, sorted by name', {
    file: 'import',
    args: ['--spans'],
    ceiling: 'the same traces as our own lines',
    aim: '0.4',
  }),
  bench('backup', 'exporting a backup', {
    ceiling: 'COPY of its lines out of an unlogged text table, uncompressed; a quarter of them',
    aim: '0.5, flat memory',
  }),
  bench('backup-short', 'exporting a backup of a million short traces', {
    file: 'backup',
    args: ['--short'],
    ceiling: 'COPY of its lines out of an unlogged text table, uncompressed; a quarter of them',
    aim: '0.5, flat memory',
  }),
  bench('otlp', 'taking in spans over OTLP, 512 a request and one by one', {
    ceiling: 'a bare hapi route that does one INSERT; the first spans of a trace',
    aim: 'none',
  }),
  bench('build', 'building a dataset version', {
    ceiling: 'DuckDB alone, the same JSONL to Parquet',
    aim: '0.3',
  }),
  bench('build-short', 'building a version of a million rows of 1 kB', {
    file: 'build',
    args: ['--short'],
    ceiling: 'DuckDB alone, the same JSONL to Parquet',
    aim: '1 GiB of memory',
  }),
  bench('redact', 'taking personal and secret values out of texts and rows', {
    ceiling: 'SHA-256 of the same texts; the same rows as they are',
    aim: '35 MB/s',
  }),
  bench('near', 'signing rows, and finding those that are nearly the same', {
    ceiling: 'SHA-256 of the same text',
    aim: '150 MB/s; recall 0.95, wrongly left out 0.1 %',
  }),
  bench('delete', 'deleting a tenth of 1,000,000 traces by a filter, and lists meanwhile', {
    ceiling: 'a plain DELETE of as many traces; the same lists alone',
    aim: 'lists p99 100 ms',
  }),
  bench('auth', 'an authenticated read: key, rate limit, scope', {
    ceiling: 'a bare hapi route that runs the same query',
    aim: '0.5',
  }),
  bench('queue', 'the queue: enqueue, drain, pick-up, fairness, scale', {
    ceiling: 'bare pg-boss and graphile-worker on the same database',
    aim: '0.9; 1 for row and job',
  }),
  bench('compatibility', 'analysing traces against a changed manifest', {
    ceiling: 'opening the traces with zstd and JSON of Node, and the pure rule, on one core',
    aim: '0.6',
  }),
  bench('replay', 'claiming replay tasks, 20 workers at once', {
    ceiling: 'a bare loop of `for update skip locked`; a bare hapi route of it',
    aim: '0.6',
  }),
  bench('resolve', 'resolving 100 skills of a registry of 10,000', {
    ceiling: 'one row by its key',
    aim: 'none',
  }),
  bench('registry', 'listing and searching a registry of 10,000 skills', {
    ceiling: 'one row by its key',
    aim: 'none',
  }),
  bench('webhooks', 'delivering webhooks', {
    ceiling: 'a bare loop of POSTs with the same client',
    aim: '0.6',
  }),
  bench('statistics', 'error rates of checks and bisection', {
    ceiling: 'a fixed threshold on the same scores',
    aim: 'statistics.md',
  }),
]

/** The command that runs a bench. */
export function commandOf({ file, args }: Pick<BenchProgram, 'file' | 'args'>) {
  return ['node', `ops/bench/${file}.ts`, ...args].join(' ')
}

function bench(
  name: string,
  measures: string,
  told: Pick<BenchProgram, 'ceiling' | 'aim'> & Partial<BenchProgram>,
): BenchProgram {
  return { name, file: name, args: [], measures, ...told }
}
