-- serves: 16
-- Sessions have ids, by which they are listed and ended, and token buckets of their own. Beside this schema
-- processes of the release before give a token that the ceiling refuses back to the key, not to the session.

-- A session is there for 12 hours, so the table is small.
alter table sessions add column id uuid not null default gen_random_uuid(),
  add constraint sessions_of_key unique (org_id, key_id, id);

-- A link that signs a browser in with a key, once, without the key. One a key: another one takes its place.
create table sign_in_links (
  org_id uuid not null,
  key_id uuid not null,
  code_hash bytea not null unique check (octet_length(code_hash) = 32),
  expires_at timestamptz not null,
  primary key (org_id, key_id),
  foreign key (org_id, key_id) references api_keys
);

-- As before, but that a session takes tokens of a bucket of its own, which `rate_buckets` has under the
-- session's id. It is as large as that of its key.
create or replace function admit_key(
  credential_hash bytea, is_session boolean, plans text[], rates int[], bursts int[]
) returns table (
  id uuid, org_id uuid, org_name text, plan text, label text, scope text, permissions text,
  workspace_id uuid, project_id uuid, revoked boolean, expired boolean,
  admitted boolean, per_minute int, remaining int, wait_seconds float8, full_seconds float8
) language plpgsql as $$
#variable_conflict use_column
declare
  found_key_hash bytea := credential_hash;
  bucket uuid;
  burst int;
  cost interval;
  full_time timestamptz;
begin
  if is_session then
    select k.key_hash, s.id into found_key_hash, bucket
    from sessions s join api_keys k on k.org_id = s.org_id and k.id = s.key_id
    where s.token_hash = credential_hash and s.expires_at > clock_timestamp();
  end if;

  select k.id, k.org_id, o.name, plan_in_force(o.plan, o.grace_period_ends), k.label, k.scope, k.permissions,
    coalesce(k.workspace_id, p.workspace_id), k.project_id, k.revoked_at is not null,
    coalesce(k.expires_at <= clock_timestamp(), false),
    o.rate_per_minute, o.rate_burst
  into id, org_id, org_name, plan, label, scope, permissions, workspace_id, project_id, revoked,
    expired, per_minute, burst
  from api_keys k
  join organizations o on o.id = k.org_id
  left join projects p on p.org_id = k.org_id and p.id = k.project_id
  where k.key_hash = found_key_hash and o.suspended_at is null;
  if not found then return; end if;

  if not revoked and not expired then
    bucket := coalesce(bucket, id);
    if plan <> 'enterprise' or per_minute is null then
      per_minute := rates[array_position(plans, plan)];
    end if;
    if plan <> 'enterprise' or burst is null then
      burst := bursts[array_position(plans, plan)];
    end if;
    cost := make_interval(secs => 60.0 / per_minute);
    insert into rate_buckets as b (org_id, key_id, full_at, last_used_at)
    values (org_id, bucket, clock_timestamp() + cost, clock_timestamp())
    on conflict (org_id, key_id) do update
      set full_at = greatest(b.full_at, clock_timestamp()) + cost, last_used_at = clock_timestamp()
      where greatest(b.full_at, clock_timestamp()) + cost <= clock_timestamp() + burst * cost
    returning full_at into full_time;
    admitted := found;
    if not admitted then
      select b.full_at into full_time from rate_buckets b
      where b.org_id = admit_key.org_id and b.key_id = bucket;
    end if;
    full_seconds := greatest(0, extract(epoch from full_time - clock_timestamp()));
    remaining := case when admitted then
      greatest(0, floor(burst - full_seconds / extract(epoch from cost) + 1e-6)) else 0 end;
    wait_seconds := case when admitted then 0 else
      greatest(0, full_seconds - (burst - 1) * extract(epoch from cost)) end;
  end if;
  return next;
end $$;
