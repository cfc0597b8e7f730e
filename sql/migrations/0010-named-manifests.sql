-- Traces hold a manifest's hash without `sha256:` before it, and as an id only that of one of the
-- manifests of their agent; other ids are kept as
-- metadata.unknown_manifest_id.

update traces set manifest_hash = nullif(regexp_replace(manifest_hash, '^sha256:', '', 'i'), '')
where manifest_hash ilike 'sha256:%';

update traces set manifest_hash = lower(manifest_hash)
where manifest_hash ~* '^[0-9a-f]{64}$' and manifest_hash <> lower(manifest_hash);

update traces t set manifest_id = null,
  metadata = t.metadata || jsonb_build_object('unknown_manifest_id', t.manifest_id)
where t.manifest_id is not null and not exists (
  select from manifests m
  where m.org_id = t.org_id and m.id = t.manifest_id and m.project_id = t.project_id
    and m.agent_name = t.agent_name);

update traces t set manifest_id = m.id
from manifests m
where t.manifest_id is null and t.manifest_hash is not null
  and m.org_id = t.org_id and m.project_id = t.project_id and m.agent_name = t.agent_name
  and m.manifest_hash = 'sha256:' || t.manifest_hash;

update traces t set manifest_hash = substr(m.manifest_hash, 8)
from manifests m
where t.manifest_hash is null and m.org_id = t.org_id and m.id = t.manifest_id;

-- Cells are by manifest; the next aggregation of each project computes them anew.
insert into score_cells_dirty (org_id, project_id, agent_name, day)
select distinct org_id, project_id, agent_name, day from score_cells
where manifest_id <> '' or manifest_hash <> '';
