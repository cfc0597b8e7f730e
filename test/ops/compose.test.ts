import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { environment } from '../../ops/environment.ts'
import { pools } from '../../workers/pools.ts'

const FILE = 'ops/deploy/compose.yaml'
const MEMBERS = new Set(
  `build cap_drop command depends_on environment healthcheck image mem_limit ports read_only restart
  security_opt stop_grace_period tmpfs volumes`.split(/\s+/),
)
const CONDITIONS = new Set(['service_started', 'service_healthy', 'service_completed_successfully'])

const compose = readCompose()

t.test('the compose file says what compose understands, which is asked where it is', async (t) => {
  t.same(findFaults(compose), [])
  if (spawnSync('docker', ['compose', 'version']).status !== 0) return
  const env = { ...process.env, MASTER_KEY: '0'.repeat(64) }
  const { status, stderr } = spawnSync('docker', ['compose', '-f', FILE, 'config', '-q'], { env })
  t.equal(status, 0, String(stderr))
})

t.test('faults that are planted are found', async (t) => {
  const planted: ((copy: Compose) => void)[] = [
    (copy) => Object.assign(apiOf(copy), { command_line: [] }),
    (copy) => (apiOf(copy).depends_on = { none: { condition: 'service_started' } }),
    (copy) => (apiOf(copy).depends_on = { migrate: { condition: 'done' } }),
    (copy) => (apiOf(copy).volumes = ['nowhere:/data']),
    (copy) => (apiOf(copy).environment = { DATABSE_URL: 'x' }),
    (copy) => (apiOf(copy).command = ['node', 'ops/start.mjs']),
    (copy) => Object.assign(copy, { volume: {} }),
  ]
  for (const plant of planted) {
    const copy = readCompose()
    plant(copy)
    const found = findFaults(copy).filter((fault) => !findFaults(compose).includes(fault))
    t.equal(found.length, 1, String(plant))
  }
})

t.test('each pool is a service that starts after the schema is there', async (t) => {
  const { postgres, migrate, api, ...workers } = compose.services
  t.same(Object.keys(workers).sort(), Object.keys(pools).sort())
  for (const [name, { command }] of Object.entries(workers)) {
    t.same(command, ['node', 'ops/start-workers.ts', '--pool', name])
  }
  t.same(migrate?.depends_on, { postgres: { condition: 'service_healthy' } })
  for (const service of [api, ...Object.values(workers)]) {
    t.same(service?.depends_on, { migrate: { condition: 'service_completed_successfully' } })
    t.equal(service?.environment?.['PUBLIC_URL'], '${PUBLIC_URL:-}')
    t.match(service, { read_only: true, tmpfs: ['/tmp'], cap_drop: ['ALL'] })
  }
  t.ok(postgres?.volumes)
})

/** What compose would refuse or ignore, and what the processes could not use. */
function findFaults({ services, volumes, ...others }: Compose): string[] {
  const settings = Object.keys(environment.describe().keys as object)
  const strange = Object.keys(others).filter((name) => !name.startsWith('x-'))
  return [
    ...strange.map((name) => `unknown member ${name}`),
    ...Object.entries(services).flatMap(([name, service]) => [
      ...Object.keys(service)
        .filter((member) => !MEMBERS.has(member))
        .map((member) => `${name}: unknown member ${member}`),
      ...Object.entries(service.depends_on ?? {})
        .filter(([other, how]) => !services[other] || !CONDITIONS.has(how.condition))
        .map(([other]) => `${name}: cannot wait for ${other}`),
      ...(service.volumes ?? [])
        .filter(
          (volume) =>
            !volume.startsWith('/') && !Object.hasOwn(volumes, volume.split(':')[0] ?? ''),
        )
        .map((volume) => `${name}: there is no volume ${volume}`),
      ...(service.image === 'postgres:18' ? [] : Object.keys(service.environment ?? {}))
        // The SDK of AWS reads its variables itself.
        .filter((variable) => !settings.includes(variable) && !variable.startsWith('AWS_'))
        .map((variable) => `${name}: there is no setting ${variable}`),
      ...(service.command?.[0] === 'node' && !existsSync(service.command[1] ?? '')
        ? [`${name}: there is no ${service.command[1]}`]
        : []),
    ]),
  ]
}

function readCompose(): Compose {
  return parse(readFileSync(FILE, 'utf8'), { merge: true }) as Compose
}

function apiOf({ services }: Compose) {
  return services['api'] as ComposeService
}

interface Compose {
  services: Record<string, ComposeService>
  volumes: Record<string, unknown>
}

interface ComposeService {
  image: string
  command?: string[]
  depends_on?: Record<string, { condition: string }>
  volumes?: string[]
  environment?: Record<string, unknown>
}
