-- Traces hold a manifest's hash without `sha256:` before it, and as an id only that of one of the
-- manifests of their agent; other ids are kept as metadata.unknown_manifest_id. One pass, which writes
-- only the rows that change.
update traces t set manifest_id = tied.id, manifest_hash = tied.hash,
  metadata = case when t.manifest_id is null or t.manifest_id = tied.id then t.metadata
    else t.metadata || jsonb_build_object('unknown_manifest_id', t.manifest_id) end
from (
  select named.org_id, named.project_id, named.trace_id, coalesce(by_id.id, by_hash.id) as id,
    coalesce(named.hash, substr(by_id.manifest_hash, 8)) as hash
  from (
    -- The regular expression is slow, and only needed where it decides.
    select org_id, project_id, trace_id, agent_name, manifest_id, nullif(case
      when bare <> lower(bare) and bare ~* '^[0-9a-f]{64}$' then lower(bare) else bare end, '') as hash
    from traces cross join lateral (select case
      when manifest_hash ilike 'sha256:%' then substr(manifest_hash, 8) else manifest_hash end as bare) b
    where manifest_id is not null or manifest_hash is not null
  ) named
  left join manifests by_id on by_id.org_id = named.org_id and by_id.id = named.manifest_id
    and by_id.project_id = named.project_id and by_id.agent_name = named.agent_name
  left join manifests by_hash on by_hash.org_id = named.org_id
    and by_hash.project_id = named.project_id and by_hash.agent_name = named.agent_name
    and by_hash.manifest_hash = 'sha256:' || named.hash
) tied
where t.org_id = tied.org_id and t.project_id = tied.project_id and t.trace_id = tied.trace_id
  and (t.manifest_id is distinct from tied.id or t.manifest_hash is distinct from tied.hash);

-- Cells are by manifest; the next aggregation of each project computes them anew.
insert into score_cells_dirty (org_id, project_id, agent_name, day)
select distinct org_id, project_id, agent_name, day from score_cells
where manifest_id <> '' or manifest_hash <> '';
