-- serves: 16
-- The handle of an organization names it in the public registry.

-- Lower-case letters, digits and single hyphens, of at most so many characters; empty where nothing is left.
create function slug_of(name text, at_most int) returns text
  language sql immutable parallel safe
  return trim(both '-' from left(trim(both '-' from regexp_replace(
    lower(regexp_replace(normalize(name, nfkd), '[\u0300-\u036f]', '', 'g')),
    '[^a-z0-9]+', '-', 'g')), at_most));

alter table organizations add column handle text;

-- The slug of a name, or where another organization has it, with digits of the id's hash behind it.
create function free_handle(org_name text, org_id uuid) returns text
  language sql volatile
  return (
    select candidate.handle
    from (select coalesce(nullif(slug_of(org_name, 24), ''), 'org') as slug,
        encode(sha256(convert_to(org_id::text, 'UTF8')), 'hex') as hash) base
      cross join lateral (
        select 0 as digits, slug as handle
        union all
        select digits, slug || '-' || left(hash, digits) from unnest('{4,8,16,64}'::int[]) digits
      ) candidate
    where not exists (select from organizations o where o.handle = candidate.handle)
    order by candidate.digits limit 1);

-- Releases that know no handles make organizations, too.
create function set_handle() returns trigger language plpgsql as $$
begin
  -- Two that are made at once would else both find it free.
  perform pg_advisory_xact_lock(
    hashtextextended('handle ' || coalesce(nullif(slug_of(new.name, 24), ''), 'org'), 0));
  new.handle := free_handle(new.name, new.id);
  return new;
end $$;

do $$
declare
  org record;
begin
  for org in select id, name from organizations order by created_at, id loop
    update organizations set handle = free_handle(org.name, org.id) where id = org.id;
  end loop;
end $$;

create trigger set_handle before insert on organizations
  for each row when (new.handle is null) execute function set_handle();
alter table organizations alter column handle set not null,
  add constraint organizations_handle check (handle ~ '^[a-z0-9]+(-[a-z0-9]+)*$');
