import { existsSync } from 'node:fs'
import t from 'tap'
import { commands } from '../../ops/commands.ts'
import { environment } from '../../ops/environment.ts'
import { pools } from '../../workers/pools.ts'
import { findFault, findStrangers, readManifests } from '../support/kubernetes.ts'
import type { Labels, Manifest } from '../support/kubernetes.ts'

const manifests = readManifests()
const of = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
const nameOf = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`
const workloads = [...of('Deployment'), ...of('Job')]
const podOf = (manifest: Manifest) => manifest.spec.template.spec
const labelsOf = (manifest: Manifest) => manifest.spec.template.metadata.labels as Labels

t.test('a cluster takes every object as it is written', async (t) => {
  t.ok(manifests.length > 20, `${manifests.length} objects`)
  for (const manifest of manifests) t.equal(findFault(manifest), '', nameOf(manifest))
  t.same([...findStrangers(manifests, t.testdir())], [])
})

t.test('faults that are planted are found', async (t) => {
  const planted = (kind: string, change: (manifest: Manifest) => void) => {
    const copy = structuredClone(of(kind)[0]) as Manifest
    change(copy)
    return copy
  }
  const wrongValues = [
    planted('Deployment', ({ spec }) => (spec.replicas = 'two')),
    planted('Deployment', ({ spec }) => delete spec.selector),
    planted('ScaledObject', ({ spec }) => (spec.fallback = { replicas: 1 })),
    planted('NetworkPolicy', ({ spec }) => (spec.policyTypes = 'Ingress')),
    planted('Job', (job) => Object.assign(job, { apiVersion: 'batch/v0' })),
  ]
  for (const manifest of wrongValues) t.not(findFault(manifest), '', nameOf(manifest))
  const strangers = [
    planted('Deployment', ({ spec }) => (spec.replica = 2)),
    planted('Deployment', (manifest) => (podOf(manifest).containers[0].readOnly = true)),
    planted('ScaledObject', ({ spec }) => (spec.minReplicas = 1)),
    planted('PodDisruptionBudget', ({ spec }) => (spec.minimum = 1)),
    planted('NetworkPolicy', ({ spec }) => (spec.egres = [])),
  ]
  t.equal(findStrangers(strangers, t.testdir()).size, strangers.length)
})

t.test('selectors choose pods that are there, and each pod has what it needs', async (t) => {
  const pods = workloads.map(labelsOf)
  const chosen = (selector: Labels) =>
    pods.filter((labels) => Object.entries(selector).every(([name, v]) => labels[name] === v))
  for (const manifest of manifests) {
    const { selector, podSelector } = manifest.spec
    const labels = podSelector?.matchLabels ?? selector?.matchLabels ?? selector
    if (labels) t.ok(chosen(labels).length > 0, `${nameOf(manifest)} chooses pods`)
  }
  for (const manifest of of('Deployment')) {
    const { selector, template } = manifest.spec
    t.same(selector.matchLabels, template.metadata.labels, nameOf(manifest))
    const budgets = of('PodDisruptionBudget').filter(
      ({ spec }) => spec.selector.matchLabels.part === selector.matchLabels.part,
    )
    t.equal(budgets.length, 1, `${nameOf(manifest)} has a budget`)
    const { topologySpreadConstraints: spread } = podOf(manifest)
    t.equal(spread.length, 2, `${nameOf(manifest)} is spread`)
    for (const one of spread) t.same(one.labelSelector, selector, nameOf(manifest))
  }
})

t.test('each pool is deployed once, and what is scaled is deployed', async (t) => {
  const parts = of('Deployment').map(({ metadata }) => metadata.name)
  t.same(parts.sort(), ['adl-api', ...Object.keys(pools).map((name) => `adl-${name}`)].sort())
  const scaled = of('ScaledObject').map(({ spec }) => String(spec.scaleTargetRef.name))
  t.same(
    scaled.sort(),
    parts.filter((name) => name !== 'adl-api' && name !== 'adl-maintenance'),
  )
  for (const { metadata, spec } of of('ScaledObject')) {
    t.equal(spec.triggers[0].metadata.url.split('pool=')[1], metadata.name.slice('adl-'.length))
    t.ok(spec.fallback.replicas <= spec.maxReplicaCount)
  }
})

t.test('each container runs what there is, with rights it needs and no others', async (t) => {
  const settings = Object.keys(environment.describe().keys as object)
  for (const manifest of workloads) {
    const name = nameOf(manifest)
    const pod = podOf(manifest)
    const [container] = pod.containers
    const [node, script, ...words] = container.command
    t.equal(node, 'node')
    t.ok(existsSync(script), `${name}: ${script}`)
    if (script === 'ops/admin.ts')
      t.ok(
        commands.some((one) => one.name === words.join(' ')),
        name,
      )
    for (const { name: variable } of container.env ?? [])
      t.ok(settings.includes(variable), variable)
    const volumes = pod.volumes.map((volume: { name: string }) => volume.name)
    const mounted = container.volumeMounts.map((mount: { name: string }) => mount.name)
    t.same(mounted, volumes, `${name} mounts its volumes`)
    t.match(container.securityContext, {
      readOnlyRootFilesystem: true,
      allowPrivilegeEscalation: false,
    })
    t.match(pod, { automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } })
    t.ok(container.resources.limits.memory, `${name} is limited`)
    const ports = (container.ports ?? []).map((port: { name: string }) => port.name)
    for (const probe of ['livenessProbe', 'readinessProbe', 'startupProbe']) {
      const asked = container[probe]?.httpGet.port
      t.ok(manifest.kind === 'Job' || ports.includes(asked), `${name}: ${probe}`)
    }
  }
})

t.test('a pod is given the time its process takes to end', async (t) => {
  const { value: defaults } = environment.validate({})
  for (const manifest of of('Deployment')) {
    const pod = podOf(manifest)
    const delay = (pod.containers[0].env ?? []).find(
      (variable: { name: string }) => variable.name === 'DRAIN_DELAY_SECONDS',
    )
    const needed = Number(delay?.value ?? 0) + defaults.DRAIN_SECONDS
    t.ok(pod.terminationGracePeriodSeconds >= needed + ENDING_SECONDS, nameOf(manifest))
    if (manifest.metadata.name === 'adl-api') t.equal(delay?.value, '5')
  }
})

t.test('traffic goes where it has to and nowhere else', async (t) => {
  const policies = new Map(of('NetworkPolicy').map(({ metadata, spec }) => [metadata.name, spec]))
  const all = policies.get('adl')
  t.same(all.podSelector.matchLabels, { app: 'adl' }, 'holds for every pod')
  t.same(all.policyTypes, ['Ingress', 'Egress'])
  t.notOk(all.ingress, 'lets nobody in')
  const open = [...policies].filter(([, spec]) =>
    (spec.ingress ?? []).some((rule: { from?: object[] }) => !rule.from),
  )
  t.same(
    open.map(([name]) => name),
    ['adl-api'],
    'only the API is open, and only its port',
  )
  t.same(policies.get('adl-api').ingress, [{ ports: [{ protocol: 'TCP', port: 'http' }] }])
})

/** Beyond DRAIN_SECONDS: for closing connections, and for what lingers. */
const ENDING_SECONDS = 15
