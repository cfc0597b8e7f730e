import type { ApiClient } from '../api-client.ts'

/** Makes a dataset, unless it is there, and those of its versions that are not. */
export async function makeDataset(
  client: ApiClient,
  dataset: { readonly name: string; readonly dataset_type: string },
  builds: readonly object[],
) {
  await client.post('/datasets', dataset, { allowed: [409] })
  const found = await findDataset(client, dataset.name)
  if (!found) throw new Error(`dataset ${dataset.name} cannot be found`)
  const { total } = await client.get<{ total: number }>(`/datasets/${found.id}/versions?limit=1`)
  for (const build of builds.slice(total)) {
    const started = await client.post<{ job_id: string }>(`/datasets/${found.id}/build`, build)
    await client.waitForJob(started?.job_id ?? '')
  }
  return found
}

export async function findDataset(client: ApiClient, name: string) {
  const { datasets } = await client.get<{ datasets: DatasetAnswer[] }>('/datasets?limit=500')
  return datasets.find((dataset) => dataset.name === name)
}

/** Versions that differ in what they let in, so that their difference and their funnels tell something. */
export async function buildMore(client: ApiClient) {
  await makeDataset(client, BILLING_SFT, [
    { split: SPLIT, seed: 7 },
    {
      split: SPLIT,
      seed: 7,
      filters: { min_eval_score: 0.6 },
      options: { dedupe: 'near', redact: ['default'], max_tokens: 1100, min_turns: 2 },
    },
  ])
  await makeDataset(client, BILLING_DPO, [{ split: SPLIT, seed: 7 }])
}

const SPLIT = { train: 0.8, validation: 0.1, test: 0.1 }
const BILLING_SFT = {
  name: 'billing-sft',
  dataset_type: 'sft',
  training_target_agent: 'billing-agent',
  description: 'Sample: billing cases that ended well, repaired to fit the newest tools',
  license: 'cc-by-4.0',
}
const BILLING_DPO = {
  name: 'billing-dpo',
  dataset_type: 'dpo',
  training_target_agent: 'billing-agent',
  description: 'Sample: better and worse answers, corrections and replays included',
}

export interface DatasetAnswer {
  readonly id: string
  readonly name: string
}
