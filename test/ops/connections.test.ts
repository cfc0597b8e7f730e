import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { readConfig } from '../../ops/config.ts'
import { apiConnections, workersConnections } from '../../ops/connections.ts'
import { POOLS } from '../../workers/pool-names.ts'
import { readManifests } from '../support/kubernetes.ts'

/** For commands and migrations. */
const COMMANDS = 3
const config = readConfig({})
const connectionsOf = (part: string) =>
  part === 'api' ? apiConnections(config) : workersConnections(config, [part])
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0)
const read = (file: string) => readFileSync(file, 'utf8')

t.test('the database of the compose file has a connection for each that may be held', async (t) => {
  const { services } = parse(read('ops/deploy/compose.yaml'), { merge: true }) as {
    services: { postgres: { command: string[] } }
  }
  const [, max = '100'] = /max_connections=(\d+)/.exec(services.postgres.command.join(' ')) ?? []
  const needed = sum(['api', ...POOLS].map(connectionsOf)) + COMMANDS
  const reserved = 3
  t.ok(Number(max) - reserved >= needed, `${needed} of ${max}`)
})

t.test('the connections at the greatest size on Kubernetes are told', async (t) => {
  const manifests = readManifests()
  const scaled = new Map(
    manifests
      .filter(({ kind }) => kind === 'ScaledObject')
      .map(({ spec }) => [spec.scaleTargetRef.name, Number(spec.maxReplicaCount)]),
  )
  const held = manifests
    .filter(({ kind }) => kind === 'Deployment')
    .map(({ metadata: { name }, spec }) => {
      const replicas = scaled.get(name) ?? Number(spec.replicas)
      return replicas * connectionsOf(name.replace('adl-', ''))
    })
  t.equal(held.length, POOLS.length + 1)
  const told = `${sum(held) + COMMANDS} connections`
  for (const file of ['ops/deploy/kubernetes/keda.yaml', 'ops/docs/operating.md']) {
    t.ok(read(file).includes(told), `${file}: ${told}`)
  }
})
