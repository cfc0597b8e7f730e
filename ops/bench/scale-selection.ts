import { completeRecipe } from '../../jobs/rules/datasets/recipe.ts'
import { openRowList } from '../../workers/datasets/row-list.ts'
import { selectIntoList } from '../../workers/datasets/select-traces.ts'
import { openDuck } from '../../workers/runtime/duckdb.ts'
import { report, whole } from './figures.ts'
import type { Bench } from './prepare.ts'
import type { ScaleOrganization } from './scale-organization.ts'

/** Selects nearly all traces of an organization as a build does, into its list. */
export async function measureSelection(
  { sql }: Bench,
  { owner: { org_id: orgId, project_id } }: ScaleOrganization,
  folder: string,
) {
  const recipe = completeRecipe('sft', null, { filters: { verdicts: ['keep', 'drop'] } })
  const { signal } = new AbortController()
  const duck = await openDuck(folder, signal)
  try {
    const list = await openRowList(duck)
    const began = performance.now()
    const { listed } = await selectIntoList(
      { recipe, project_id, parent_version_id: null },
      { orgId, sql, signal, progress: () => undefined },
      list,
      () => undefined,
    )
    const seconds = (performance.now() - began) / 1000
    report({
      what: 'selecting traces for a dataset, 50,000 a second',
      ratio: null,
      figures: `${whole(listed / seconds)} a second of ${whole(listed)}`,
    })
  } finally {
    await duck.close()
  }
}
