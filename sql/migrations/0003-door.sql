-- Who may call and how often: rate limits, sessions, audit, alert mails, quotas.

alter table organizations
  -- Requests with any of its keys are refused as if the keys were unknown.
  add column suspended_at timestamptz,
  -- Replace the plan's rate limit, for enterprise organizations only.
  add column rate_per_minute int check (rate_per_minute >= 1000),
  add column rate_burst int check (rate_burst >= 200);

-- Cursors of lists carry these times in milliseconds, as JavaScript has them; with microseconds beside
-- them, a page would skip rows of the millisecond it ends in.
alter table workspaces alter column created_at type timestamptz(3);
alter table projects alter column created_at type timestamptz(3);
alter table jobs alter column created_at type timestamptz(3);
alter table imports alter column created_at type timestamptz(3);

-- The token bucket of each key that was used. Unlogged: a crash empties it, which fills the buckets and
-- loses the last_used_at that no tick has copied to api_keys yet. The fill factor keeps updates on
-- their page.
create unlogged table rate_buckets (
  org_id uuid not null,
  key_id uuid not null,
  -- When the bucket is full again; the whole state of a token bucket.
  full_at timestamptz not null,
  last_used_at timestamptz not null,
  primary key (org_id, key_id)
) with (fillfactor = 50);

-- Browser sessions. Each acts as the key that opened it and is worth nothing without it.
create table sessions (
  org_id uuid not null,
  token_hash bytea not null unique check (octet_length(token_hash) = 32),
  key_id uuid not null,
  created_at timestamptz not null default now(),
  expires_at timestamptz not null,
  primary key (org_id, token_hash),
  foreign key (org_id, key_id) references api_keys
);

-- After the grace period of an overdue payment the limits of the free plan hold.
create function plan_in_force(plan text, grace_period_ends timestamptz) returns text
language sql stable return case when grace_period_ends <= now() then 'free' else plan end;

-- Everything a request needs to know of its credential in one round trip, a token of the key's bucket
-- included. No row: unknown credential, ended session, or suspended organization. An expired or
-- revoked key takes no token. The clock of the database decides, because it is the same for all
-- processes. `plans`, `rates` and `bursts` are parallel lists.
create function admit_key(
  credential_hash bytea, is_session boolean, plans text[], rates int[], bursts int[]
) returns table (
  id uuid, org_id uuid, org_name text, plan text, label text, scope text, permissions text,
  workspace_id uuid, project_id uuid, revoked boolean, expired boolean,
  admitted boolean, per_minute int, remaining int, wait_seconds float8, full_seconds float8
) language plpgsql as $$
#variable_conflict use_column
declare
  found_key_hash bytea := credential_hash;
  burst int;
  cost interval;
  full_time timestamptz;
begin
  if is_session then
    select k.key_hash into found_key_hash
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
    if plan <> 'enterprise' or per_minute is null then
      per_minute := rates[array_position(plans, plan)];
    end if;
    if plan <> 'enterprise' or burst is null then
      burst := bursts[array_position(plans, plan)];
    end if;
    cost := make_interval(secs => 60.0 / per_minute);
    insert into rate_buckets as b (org_id, key_id, full_at, last_used_at)
    values (org_id, id, clock_timestamp() + cost, clock_timestamp())
    on conflict (org_id, key_id) do update
      set full_at = greatest(b.full_at, clock_timestamp()) + cost, last_used_at = clock_timestamp()
      where greatest(b.full_at, clock_timestamp()) + cost <= clock_timestamp() + burst * cost
    returning full_at into full_time;
    admitted := found;
    if not admitted then
      select b.full_at into full_time from rate_buckets b
      where b.org_id = admit_key.org_id and b.key_id = admit_key.id;
    end if;
    full_seconds := greatest(0, extract(epoch from full_time - clock_timestamp()));
    remaining := case when admitted then
      greatest(0, floor(burst - full_seconds / extract(epoch from cost) + 1e-6)) else 0 end;
    wait_seconds := case when admitted then 0 else
      greatest(0, full_seconds - (burst - 1) * extract(epoch from cost)) end;
  end if;
  return next;
end $$;

-- What was done to the organization's keys, workspaces and projects, and by whom.
create table audit_events (
  org_id uuid not null references organizations,
  id uuid not null,
  -- `<resource type>.<past participle>`
  action text not null,
  -- Null for the operator.
  actor_key_id uuid,
  resource_type text not null,
  resource_id uuid not null,
  data jsonb not null default '{}',
  occurred_at timestamptz(3) not null default now(),
  primary key (org_id, id)
);
create index audit_events_newest on audit_events (org_id, occurred_at desc, id desc);

-- Mails to billing contacts. They never hold a raw key.
create table mails (
  org_id uuid not null references organizations,
  id uuid not null,
  recipient text not null,
  subject text not null,
  body text not null,
  created_at timestamptz not null default now(),
  -- Null while it waits, and for good where no mail server is configured.
  sent_at timestamptz,
  primary key (org_id, id)
);

-- What an organization used up of a metric in a month. One row, which every charge locks until its
-- transaction ends: that makes the count exact.
create table usage (
  org_id uuid not null references organizations,
  metric text not null,
  -- First day of the month, UTC.
  period date not null,
  current bigint not null check (current >= 0),
  -- What held at the last charge.
  lim bigint not null,
  -- When 80 % and 100 % of the limit were first reached.
  warned_at timestamptz,
  reached_at timestamptz,
  primary key (org_id, metric, period)
) with (fillfactor = 50);
