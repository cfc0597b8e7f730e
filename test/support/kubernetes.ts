import { spawnSync } from 'node:child_process'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1'
import { Deployment } from 'kubernetes-models/apps/v1'
import { Job } from 'kubernetes-models/batch/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { Service } from 'kubernetes-models/v1'
import { parseAllDocuments } from 'yaml'

/** The kinds that the deploy files use: the model that checks values, and the package its type is in. */
const KINDS = {
  'apps/v1 Deployment': { model: Deployment, from: 'kubernetes-models/apps/v1' },
  'batch/v1 Job': { model: Job, from: 'kubernetes-models/batch/v1' },
  'keda.sh/v1alpha1 ScaledObject': {
    model: ScaledObject,
    from: '@kubernetes-models/keda/keda.sh/v1alpha1',
  },
  'networking.k8s.io/v1 NetworkPolicy': {
    model: NetworkPolicy,
    from: 'kubernetes-models/networking.k8s.io/v1',
  },
  'policy/v1 PodDisruptionBudget': {
    model: PodDisruptionBudget,
    from: 'kubernetes-models/policy/v1',
  },
  'v1 Service': { model: Service, from: 'kubernetes-models/v1' },
} as const

/** All objects of the Kubernetes files. @throws YAMLParseError */
export function readManifests(): Manifest[] {
  return globSync('ops/deploy/kubernetes/*.yaml')
    .sort()
    .flatMap((file) => parseAllDocuments(readFileSync(file, 'utf8')))
    .map((document) => {
      for (const error of document.errors) throw error
      return document.toJS() as Manifest
    })
}

/** Why a cluster would refuse an object for its values; empty when it would not. */
export function findFault(manifest: Manifest): string {
  const kind = kindOf(manifest)
  if (!kind) return `there is no ${manifest.apiVersion} ${manifest.kind}`
  try {
    new kind.model(manifest as never).validate()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

/**
 * The objects, by their place, that have a member their kind has not, or lack one. Clusters ignore such
 * members in silence. The compiler looks for them, as an object's type names all of its members.
 * @param dir a folder below the packages
 */
export function findStrangers(manifests: readonly Manifest[], dir: string): Map<number, string> {
  const lines = manifests.map((manifest, i) => {
    const type = `import('${kindOf(manifest)?.from}').I${manifest.kind}`
    return `export const x${i}: ${type} = ${JSON.stringify(manifest)}`
  })
  writeFileSync(join(dir, 'manifests.ts'), lines.join('\n'))
  const options = { module: 'nodenext', strict: true, noEmit: true, skipLibCheck: true, types: [] }
  const project = { compilerOptions: options, files: ['manifests.ts'] }
  writeFileSync(join(dir, 'tsconfig.json'), JSON.stringify(project))
  // The test runner puts options of its own into NODE_OPTIONS of every child, with which tsc does not load.
  const command = `NODE_OPTIONS= node_modules/.bin/tsc -p '${dir}' --pretty false`
  const { stdout, stderr, status } = spawnSync('sh', ['-c', command])
  if (status !== 0 && stdout.length === 0) throw new Error(`tsc: ${String(stderr)}`)
  const found = String(stdout).matchAll(/manifests\.ts\((\d+),\d+\): (.*)$/gm)
  return new Map([...found].map(([, line, message = '']) => [Number(line) - 1, message]))
}

function kindOf({ apiVersion, kind }: Manifest) {
  return Object.entries(KINDS).find(([name]) => name === `${apiVersion} ${kind}`)?.[1]
}

export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: { readonly name: string; readonly labels?: Labels }
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly spec: any
}

export type Labels = Readonly<Record<string, string>>
