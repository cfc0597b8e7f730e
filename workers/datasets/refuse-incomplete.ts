import type { DuckDBConnection } from '@duckdb/node-api'
import type { Recipe } from '../../jobs/rules/datasets/recipe.ts'
import { ALWAYS_LOOKED_FOR } from '../../jobs/rules/datasets/redact-residue.ts'
import { readOne } from '../runtime/duckdb.ts'
import { GiveUp } from '../runtime/give-up.ts'

/**
 * Refuses a version of which the second look of redaction left out too many rows: others like them may
 * hold what it does not see.
 * @throws GiveUp `redaction_incomplete`
 */
export async function refuseIncomplete(
  connection: DuckDBConnection,
  { redaction, options }: Recipe,
  dropped: Readonly<Record<string, number>>,
) {
  const residual = dropped['redact.residual'] ?? 0
  if (!redaction || residual === 0) return
  const [rows] = await readOne<[bigint]>(connection, 'select count(*) from rows')
  const made = Number(rows) + residual
  if (residual <= made * MAX_SHARE) return
  throw new GiveUp(
    'redaction_incomplete',
    `${residual} of ${made} rows still held values after redaction, which may be one in 1,000 at most. Every row, with its tools, is looked at for ${ALWAYS_LOOKED_FOR.join(', ')} besides ${options.redact.join(', ')}: ask for these classes too, or leave the traces out; tools stay as they are`,
    { details: { residual, rows: made } },
  )
}

const MAX_SHARE = 0.001
