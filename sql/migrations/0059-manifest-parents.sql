-- serves: 16
-- Versions by the one before, which is looked for when that is deleted.
create index concurrently if not exists manifests_parent
  on manifests (org_id, parent_manifest_id) where parent_manifest_id is not null;
