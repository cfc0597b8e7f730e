import type { Maker } from './maker.ts'
import { conversation } from './sent-traces.ts'

/** The agent `writer` of a project, whose second version is worse, and the finding that says so. */
export async function findRegression({ post, id, settled }: Maker, project: string) {
  for (const [version, { count, quality }] of VERSIONS.entries()) {
    const manifest = {
      agent_name: 'writer',
      components: [modelOf(version)],
      activate: true,
      project,
    }
    const manifest_id = await id('/manifests', manifest, 'manifest_id')
    const traces = Array.from({ length: count }, (_, i) => ({
      ...conversation(`writer-${version}-${i}`, `chapter ${version}-${i}`),
      agent_name: 'writer',
      manifest_id,
      project,
      scores: { reward: quality + (i % 2 ? 0.05 : -0.05) },
    }))
    await post('/traces/batch', { traces })
    await settled()
  }
  const { findings } = await post('/agents/writer/bisect', { project })
  if (findings.length !== 1) throw new Error('The worse version was not found')
}

/** The only component of a version. */
export function modelOf(version: number) {
  return { component_type: 'model', component_name: `model ${version}` }
}

const VERSIONS = [
  { count: 90, quality: 0.9 },
  { count: 60, quality: 0.6 },
]
