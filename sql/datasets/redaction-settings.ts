import { NO_SETTINGS } from '../../jobs/rules/datasets/redaction.ts'
import type { RedactionSettings } from '../../jobs/rules/datasets/redaction.ts'
import { jsonText } from '../core/db.ts'
import type { Queryable } from '../core/db.ts'

export interface RedactionSettingsRow extends RedactionSettings {
  readonly updated_by: string | null
  /** Null where nothing was ever set. */
  readonly updated_at: Date | null
}

/** The settings of a project, empty ones where nothing was ever set. */
export async function findRedactionSettings(
  sql: Queryable,
  orgId: string,
  projectId: string,
): Promise<RedactionSettingsRow> {
  const [row] = await sql<RedactionSettingsRow[]>`
    select patterns, keep, updated_by, updated_at from redaction_settings
    where org_id = ${orgId} and project_id = ${projectId}`
  return row ?? { ...NO_SETTINGS, updated_by: null, updated_at: null }
}

/** Replaces the settings of a project. */
export async function putRedactionSettings(
  sql: Queryable,
  orgId: string,
  projectId: string,
  { patterns, keep }: RedactionSettings,
  keyId: string,
): Promise<RedactionSettingsRow[]> {
  return sql<RedactionSettingsRow[]>`
    insert into redaction_settings (org_id, project_id, patterns, keep, updated_by)
    values (${orgId}, ${projectId}, ${jsonText(patterns)}::text::jsonb, ${keep}, ${keyId})
    on conflict (org_id, project_id) do update set patterns = excluded.patterns, keep = excluded.keep,
      updated_by = excluded.updated_by, updated_at = now()
    returning patterns, keep, updated_by, updated_at`
}
