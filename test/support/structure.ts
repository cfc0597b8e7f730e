import { posix } from 'node:path'
import type { Area } from '../../api/endpoint.ts'
import { findCycles } from '../../ops/measure/cycles.ts'
import { pools } from '../../workers/pools.ts'
import type { Source, Sources, Tree } from './sources.ts'

/** Folder to the folders its files may import. */
export const MAY_IMPORT: Record<string, readonly string[]> = {
  jobs: ['jobs'],
  sql: ['jobs', 'sql'],
  api: ['jobs', 'sql', 'api'],
  workers: ['jobs', 'sql', 'workers'],
  ops: ['jobs', 'sql', 'api', 'workers', 'ops'],
  test: ['jobs', 'sql', 'api', 'workers', 'ops', 'test'],
}

/** Folder to the packages its files may not import. Types of pg-boss are the queue's own in jobs/. */
const NO_PACKAGE: Record<string, RegExp> = {
  jobs: /^(postgres|@hapi\/|@duckdb\/|got|node-cron|node:(fs|net|http|https|child_process))/,
  sql: /^(pg-boss|@hapi\/|@duckdb\/|got|node-cron|node:(net|http|https|child_process))/,
  api: /^(@duckdb\/|got|node-cron|node:child_process)/,
  workers: /^(@hapi\/|hapi)/,
}

const IMPURE =
  /\bnew Date\(\)|\bDate\.now\(|\bMath\.random\(|\bperformance\.now\(|\brandom(Bytes|UUID|UUIDv7|Int)\(|from 'node:(fs|fs\/promises|net|http|https|child_process|timers)'|\bfetch\(|\bprocess\./

/** What is known of a foreign thing, and the only files of the program that may know it. */
const FOREIGN: readonly { known: RegExp; by: readonly string[] }[] = [
  { known: /\bpgboss\./, by: ['sql/jobs/pg-boss.ts'] },
  {
    known:
      /\bfrom 'postgres'|\bCONNECTION_[A-Z]|\b(?:42P01|57P0|57014|3D000|42501|23502|23514)|\.reserve\(/,
    by: ['sql/core/db.ts', 'sql/core/gated-pool.ts'],
  },
]

/** The areas of `api/`, `sql/` and `jobs/rules/`, and of their tests. */
const AREAS = `core access traces evals manifests regression datasets replay skills import webhooks
  org jobs demo`.split(/\s+/)
/** The folders of the console: one for each part of its menu, and what they share. */
const CONSOLE =
  `traces review agents manifests regressions checks datasets replay skills imports jobs
  webhooks organization changelog browser charts styles`.split(/\s+/)
const WORKERS = [...Object.keys(pools), 'runtime', 'examination', 'outbound']

/** Folders of `jobs/rules/import/`: the platforms, and what their mappers share. */
const FORMATS = `atif attributes chat foreign langfuse langsmith messages opik otlp phoenix
  spans`.split(/\s+/)

/** Folder to the names its folders may have; theirs have none. */
const ROOMS: Record<string, readonly string[]> = {
  api: [...AREAS, 'console'],
  'api/console': CONSOLE,
  sql: [...AREAS, 'migrations', 'transactions'],
  jobs: ['rules'],
  'jobs/rules': AREAS,
  'jobs/rules/datasets': ['hub'],
  'jobs/rules/import': [...FORMATS, 'backup'],
  'jobs/rules/skills': ['scan'],
  'sql/import': ['backup'],
  workers: WORKERS,
  'workers/datasets': ['hub'],
  'workers/import': ['backup', 'containers', 'pull'],
  'test/api': [...AREAS, 'console'],
  'test/sql': [...AREAS, 'transactions'],
  'test/jobs': ['rules'],
  'test/jobs/rules': AREAS,
  'test/jobs/rules/datasets': ['hub'],
  'test/jobs/rules/import': [...FORMATS, 'backup'],
  'test/jobs/rules/skills': ['scan'],
  'test/workers': WORKERS,
  'test/workers/datasets': ['hub'],
  'test/workers/import': ['backup', 'containers', 'pull'],
}

/** Transactions that several callers share: all of sql/ that may put jobs into queues. */
const TRANSACTIONS = 'sql/transactions/'

const OPERATION = /^export const \w+ = endpoint\(/m

export function findWrongImports(sources: Sources): string[] {
  return [...sources].flatMap(([path, { local, packages }]) => {
    const [folder] = path.split('/') as [string]
    const allowed = MAY_IMPORT[folder] ?? []
    return [
      ...local.filter((other) => !allowed.includes(other.split('/')[0] as string)),
      ...packages.filter((name) => NO_PACKAGE[folder]?.test(name)),
    ].map((other) => `${path} -> ${other}`)
  })
}

/** Imports of a pool's files by a file in another folder of `workers/`. */
export function findPoolImports(sources: Sources): string[] {
  const poolOf = (path: string) => /^workers\/([^/]+)\//.exec(path)?.[1]
  return [...sources].flatMap(([path, { local }]) => {
    const own = poolOf(path)
    if (own === undefined) return []
    return local
      .filter((other) => poolOf(other) !== own && Object.hasOwn(pools, poolOf(other) ?? ''))
      .map((other) => `${path} -> ${other}`)
  })
}

/** The handlers that a program loads whatever it does, as the last import on the way to each. */
export function findLoadedHandlers(program: string, sources: Sources): string[] {
  const handlers = new Set(
    [...sources].flatMap(([path, { loaded }]) => (POOL_INDEX.test(path) ? loaded : [])),
  )
  if (handlers.size === 0 || !sources.has(program)) throw new Error(`${program} is not there`)
  const seen = new Set([program])
  const found: string[] = []
  for (const path of seen) {
    for (const other of sources.get(path)?.loaded ?? []) {
      if (handlers.has(other)) found.push(`${path} -> ${other}`)
      seen.add(other)
    }
  }
  return found
}

export function findFileCycles(sources: Sources): string[] {
  return cyclesOf(new Map([...sources].map(([path, { local }]) => [path, local])))
}

/** Cycles between the areas of a folder, such as `jobs/rules`. */
export function findAreaCycles(folder: string, sources: Sources): string[] {
  const areaOf = (path: string) =>
    path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).split('/')[0] : undefined
  const imports = new Map<string, Set<string>>()
  for (const [path, { local }] of sources) {
    const area = areaOf(path)
    if (area === undefined) continue
    const others = imports.get(area) ?? new Set()
    imports.set(area, others)
    for (const other of local.map(areaOf)) if (other && other !== area) others.add(other)
  }
  return cyclesOf(imports)
}

/** Files of the areas of sql/ that see the queue or a transaction that does. */
export function findQueueUsers(sources: Sources): string[] {
  return [...sources].flatMap(([path, { text, local }]) => {
    if (!path.startsWith('sql/') || path.startsWith(TRANSACTIONS)) return []
    const clauses = [...text.matchAll(/\bimport\b([^';]*)'[^']*\/jobs\/queue\.ts'/g)]
    const isQueued = clauses.some(([, clause = '']) => /\bQueue\b|\*|\(/.test(clause))
    return [
      ...(isQueued ? [`${path}: the queue`] : []),
      ...local
        .filter((other) => other.startsWith(TRANSACTIONS))
        .map((other) => `${path} -> ${other}`),
    ]
  })
}

export function findImpureRules(sources: Sources): string[] {
  return [...sources].flatMap(([path, { text }]) => {
    const found = path.startsWith('jobs/rules/') ? IMPURE.exec(text) : null
    return found ? [`${path}: ${found[0]}`] : []
  })
}

/** What files know of a foreign thing that is for another file. */
export function findLeaks(sources: Sources): string[] {
  return [...sources].flatMap(([path, { text }]) =>
    FOREIGN.filter(({ by }) => !by.includes(path) && !/^(test|ops\/bench)\//.test(path)).flatMap(
      ({ known, by }) => {
        const found = known.exec(text)
        return found ? [`${path} knows ${found[0]}, which is for ${by.join(' and ')}`] : []
      },
    ),
  )
}

/** Paths of the files that declare operations. */
export function listOperationFiles(sources: Sources): string[] {
  return [...sources].flatMap(([path, source]) => (isOperation(path, source) ? [path] : []))
}

/** Imports of operations from elsewhere than the list of their area, and the pages that ask them. */
export function findOperationImports(sources: Sources): string[] {
  const operations = new Set(listOperationFiles(sources))
  const mayImport = (path: string, other: string) =>
    !path.startsWith('api/') || isOfConsole(path) || path === posix.join(other, '../index.ts')
  return [...sources].flatMap(([path, { local }]) =>
    local
      .filter((other) => operations.has(other) && !mayImport(path, other))
      .map((other) => `${path} -> ${other}`),
  )
}

/** Operations that are missing from the list of the area whose folder they are in. */
export function findUnlisted(declared: readonly Found[], areas: Readonly<Record<string, Area>>) {
  return declared.flatMap(({ place, value }) => {
    const area = areas[place.split('/')[1] as string] ?? []
    const isListed = Object.values(area).flat().includes(value)
    return isListed ? [] : [place]
  })
}

/** Folders of `api/` whose list the interface does not have; the console is none of its areas. */
export function findUnjoined({ folders }: Tree, areas: Readonly<Record<string, Area>>) {
  const known = new Set([...Object.keys(areas), 'console'])
  return folders.filter(
    (folder) => posix.dirname(folder) === 'api' && !known.has(posix.basename(folder)),
  )
}

/** Folders whose name is none of those their place may have. */
export function findStrangeFolders({ folders }: Tree): string[] {
  const isRoom = (parent: string) =>
    Object.keys(ROOMS).some((room) => parent === room || parent.startsWith(`${room}/`))
  return folders.filter((folder) => {
    const parent = posix.dirname(folder)
    return isRoom(parent) && !ROOMS[parent]?.includes(posix.basename(folder))
  })
}

/** Files beside the areas they should be in. */
export function findStrayFiles({ files }: Tree): string[] {
  return files.filter((file) => ['sql', 'jobs/rules'].includes(posix.dirname(file)))
}

export function findEmptyFolders({ folders, files }: Tree): string[] {
  return folders.filter((folder) => !files.some((file) => file.startsWith(`${folder}/`)))
}

function isOperation(path: string, { text }: Source) {
  return /^api\/[^/]+\//.test(path) && !isOfConsole(path) && OPERATION.test(text)
}

function isOfConsole(path: string) {
  return path.startsWith('api/console/')
}

function cyclesOf(imports: ReadonlyMap<string, Iterable<string>>): string[] {
  return findCycles(imports).map((way) => way.join(' -> '))
}

/** An exported value and where it is, `<path>: <name>`. */
export interface Found {
  readonly place: string
  readonly value: object
}

const POOL_INDEX = /^workers\/\w+\/index\.ts$/
