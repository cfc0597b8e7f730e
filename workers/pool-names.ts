/** The pools of `pools.ts`, apart from it so that naming one does not load what the jobs need. */
export const POOLS = [
  'import',
  'evals',
  'regression',
  'datasets',
  'replay',
  'skills',
  'webhooks',
  'maintenance',
] as const

export type PoolName = (typeof POOLS)[number]
