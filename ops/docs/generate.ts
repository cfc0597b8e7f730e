// Writes the generated parts of the documentation: npm run docs. With --check it only says whether
// they are up to date, by its exit code.
import { readFileSync, writeFileSync } from 'node:fs'
import { operations } from '../../api/routes.ts'
import { POOLS } from '../../workers/pool-names.ts'
import { BENCHES, commandOf } from '../bench/benches.ts'
import { readConfig } from '../config.ts'
import { apiConnections, slotsOf, standbyConnections, workersConnections } from '../connections.ts'
import { environment } from '../environment.ts'
import { accessTable } from './access-table.ts'
import { replacePart, table } from './parts.ts'

/** Processes of an installation, by kind. */
const EXAMPLE = {
  API: 4,
  import: 3,
  evals: 4,
  regression: 2,
  datasets: 2,
  replay: 1,
  skills: 1,
  webhooks: 2,
  maintenance: 2,
}
/** Connections of the operator's commands. */
const COMMANDS = 3

/** File and name of each generated part. */
const PARTS = [
  { path: 'ops/docs/operating.md', name: 'environment', write: environmentTable },
  { path: 'ops/docs/operating.md', name: 'connections', write: connectionsTable },
  { path: 'ops/docs/scaling.md', name: 'example', write: exampleTable },
  { path: 'ops/docs/access.md', name: 'access', write: accessPart },
  { path: 'ops/docs/performance.md', name: 'benches', write: benchesTable },
] as const

function main(check: boolean) {
  for (const { path, name, write } of PARTS) {
    const before = readFileSync(path, 'utf8')
    const after = replacePart(before, name, write())
    if (before === after) continue
    if (check) {
      process.stderr.write(`${path}: its part "${name}" is out of date. Run: npm run docs\n`)
      process.exitCode = 1
    } else {
      writeFileSync(path, after)
    }
  }
}

/** The variables of `ops/environment.ts` in their order. */
function environmentTable() {
  const keys = environment.describe()['keys'] as Record<string, Described>
  const rows = Object.entries(keys).map(([name, { flags }]) => {
    const description = flags?.description ?? ''
    const standard = flags?.default === undefined ? '' : String(flags.default)
    return [`\`${name}\``, standard && `\`${standard}\``, description]
  })
  return table(['variable', 'default', 'meaning'], rows)
}

/** Connections of the processes with the default settings. */
function connectionsTable() {
  const config = readConfig({})
  const rows = [
    ['API', 'auth + read + aggregate + compare + write + 1', String(apiConnections(config))],
    [
      'API, on its read replica',
      'read + aggregate + compare + 1',
      String(standbyConnections(config)),
    ],
    ...POOLS.map((pool) => [
      `workers of ${pool}`,
      `${slotsOf(config, [pool])} slots + 4 + 1${pool === 'maintenance' ? ' + 2' : ''}`,
      String(workersConnections(config, [pool])),
    ]),
  ]
  return table(['process', 'connections', 'by default'], rows)
}

/** Connections of an installation of the size that `scaling.md` reckons with. */
function exampleTable() {
  const config = readConfig({})
  const counted = Object.entries(EXAMPLE).map(([name, processes]) => {
    const each = name === 'API' ? apiConnections(config) : workersConnections(config, [name])
    return { name, processes, each }
  })
  const rows = counted.map(({ name, processes, each }) => [
    name === 'API' ? name : `workers of ${name}`,
    String(processes),
    String(each),
    String(processes * each),
  ])
  const onceMore = counted.reduce((total, { each }) => total + each, 0)
  const sum = counted.reduce((total, { processes, each }) => total + processes * each, COMMANDS)
  return table(
    ['process', 'processes', 'connections each', 'together'],
    [
      ...rows,
      ['commands and migrations', '', '', String(COMMANDS)],
      ['all', '', '', String(sum)],
      ['during a rollout, one more of each', '', '', String(sum + onceMore)],
    ],
  )
}

function accessPart() {
  const { head, rows } = accessTable(operations)
  return table(head, rows)
}

function benchesTable() {
  const rows = BENCHES.map((bench) => {
    const { measures, ceiling, aim } = bench
    return [measures, ceiling, aim, `\`${commandOf(bench)}\``]
  })
  return table(['what', 'ceiling in the same run', 'aim', 'command'], rows)
}

interface Described {
  readonly flags?: { readonly description?: string; readonly default?: string | number | boolean }
}

main(process.argv.includes('--check'))
