import type { AgentHistory } from './agent-history.ts'
import type { Maker } from './maker.ts'

/** Datasets of each type with versions, of which one names its parent, and one has none. */
export async function makeDatasets({ post, id }: Maker, { first }: AgentHistory) {
  const keeps = await id('/datasets', {
    name: 'keeps "1"',
    dataset_type: 'sft',
    description: 'what is\\kept',
    license: 'mit',
  })
  await post(`/datasets/${keeps}/build`, {})
  await post(`/datasets/${keeps}/build`, { filters: { manifest_ids: [first] } })
  const options = { redact: ['email', 'custom'] }
  await post(`/datasets/${keeps}/build`, { filters: { verdicts: ['keep', 'repair'] }, options })
  const pairs = await id('/datasets', { name: 'pairs', dataset_type: 'dpo', project: 'Payments' })
  await post(`/datasets/${pairs}/build`, {})
  await id('/datasets', { name: 'none', dataset_type: 'kto' })
}
