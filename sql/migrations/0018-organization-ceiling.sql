-- serves: 16
-- Over all its keys an organization has a token bucket too. Processes older than this schema know the
-- buckets of keys alone.

-- Unlogged like rate_buckets: a crash fills the buckets.
create unlogged table organization_buckets (
  org_id uuid primary key,
  -- When the bucket is full again.
  full_at timestamptz not null
) with (fillfactor = 50);

-- Takes as many of `asked` tokens as there are in the bucket of an organization, which is `ceiling`
-- times the bucket of one key of its plan. `plans`, `rates` and `bursts` are parallel lists. Who takes
-- of several organizations goes by their ids, after the buckets of keys, so that nobody waits in a
-- circle. Told besides: tokens that are left, seconds until there is one, and until all are there.
create function take_organization_tokens(
  organization uuid, plan text, asked bigint, plans text[], rates int[], bursts int[], ceiling int
) returns table (taken bigint, left_over bigint, wait_seconds float8, full_seconds float8)
language plpgsql as $$
declare
  per_minute int;
  burst bigint;
  cost interval;
  full_time timestamptz;
begin
  if plan = 'enterprise' then
    select o.rate_per_minute, o.rate_burst into per_minute, burst
    from organizations o where o.id = organization;
  end if;
  per_minute := coalesce(per_minute, rates[array_position(plans, plan)]);
  burst := ceiling * coalesce(burst, bursts[array_position(plans, plan)]);
  asked := least(asked, burst);
  cost := greatest(make_interval(secs => 60.0 / per_minute / ceiling), '1 microsecond');

  insert into organization_buckets as b (org_id, full_at)
  values (organization, clock_timestamp() + asked * cost)
  on conflict (org_id) do update set full_at = greatest(b.full_at, clock_timestamp()) + asked * cost
    where greatest(b.full_at, clock_timestamp()) + asked * cost <= clock_timestamp() + burst * cost
  returning b.full_at into full_time;
  if found then
    taken := asked;
  else
    -- The row is locked since the attempt above.
    select greatest(b.full_at, clock_timestamp()) into full_time
    from organization_buckets b where b.org_id = organization;
    taken := greatest(0, floor(burst - extract(epoch from full_time - clock_timestamp())
      / extract(epoch from cost) + 1e-6));
    full_time := full_time + taken * cost;
    update organization_buckets b set full_at = full_time where b.org_id = organization;
  end if;
  full_seconds := greatest(0, extract(epoch from full_time - clock_timestamp()));
  left_over := greatest(0, floor(burst - full_seconds / extract(epoch from cost) + 1e-6));
  wait_seconds := greatest(0, full_seconds - (burst - 1) * extract(epoch from cost));
  return next;
end $$;

-- Gives back the token that admit_key took of a key, in the same transaction.
create function return_key_token(organization uuid, key uuid, per_minute int) returns void
language sql as $$
  update rate_buckets set full_at = full_at - make_interval(secs => 60.0 / per_minute)
  where org_id = organization and key_id = key
$$;
