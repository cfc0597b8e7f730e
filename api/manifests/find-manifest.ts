import { findManifest, findStoredManifest } from '../../sql/manifests.ts'
import type { ManifestRow, StoredManifest } from '../../sql/manifests.ts'
import type { ApiContext } from '../context.ts'
import { notFound } from '../errors.ts'
import type { Principal } from '../principal.ts'
import { maySee, readableProjects } from '../projects.ts'

/** @throws ApiError 404 for a manifest that does not exist and for one the caller may not see, alike */
export async function findVisibleManifest(
  { sql }: ApiContext,
  principal: Principal,
  id: string,
): Promise<ManifestRow> {
  const manifest = await findManifest(sql, principal.orgId, id)
  const visible = await readableProjects(sql, principal, undefined)
  if (!manifest || !maySee(visible, manifest.project_id)) throw notFound('Manifest')
  return manifest
}

/** The components of a manifest that is known to be there. */
export async function readStoredManifest(
  { sql }: ApiContext,
  principal: Principal,
  id: string,
): Promise<StoredManifest> {
  const stored = await findStoredManifest(sql, principal.orgId, id)
  if (!stored) throw notFound('Manifest')
  return stored
}
