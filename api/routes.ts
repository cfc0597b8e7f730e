import { access } from './access/index.ts'
import { core } from './core/index.ts'
import { datasets } from './datasets/index.ts'
import { demo } from './demo/index.ts'
import type { Area, Endpoint } from './endpoint.ts'
import { evals } from './evals/index.ts'
import { imports } from './import/index.ts'
import { jobs } from './jobs/index.ts'
import { manifests } from './manifests/index.ts'
import { org } from './org/index.ts'
import { regression } from './regression/index.ts'
import { replay } from './replay/index.ts'
import { skills } from './skills/index.ts'
import { traces } from './traces/index.ts'
import { webhooks } from './webhooks/index.ts'

/** The areas by folder, in the order of the documentation. */
export const areas: Readonly<Record<string, Area>> = {
  access,
  org,
  traces,
  evals,
  datasets,
  import: imports,
  manifests,
  regression,
  replay,
  skills,
  jobs,
  webhooks,
  demo,
  core,
}

/** The whole interface as one list, each operation with its tag. */
export const operations: readonly Endpoint[] = Object.entries(areas).flatMap(([folder, area]) =>
  Object.entries(isList(area) ? { [folder]: area } : area).flatMap(([tag, listed]) =>
    listed.map((operation) => ({ ...operation, tag })),
  ),
)

function isList(area: Area): area is readonly Endpoint[] {
  return Array.isArray(area)
}
