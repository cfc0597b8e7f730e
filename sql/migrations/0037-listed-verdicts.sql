-- serves: 16
-- What lists are filtered and sorted by stands in one table, so that one index can have it.
alter table verdicts
  add column agent_name text,
  add column started_at timestamptz,
  -- Of the reason that decided.
  add column reason_code text;
alter table trace_search add column started_at timestamptz;

-- For rows that say no more than those of the release before.
create function complete_verdict() returns trigger language plpgsql as $$
begin
  new.reason_code := new.reasons -> 0 ->> 'code';
  if new.started_at is null then
    select t.agent_name, t.started_at into new.agent_name, new.started_at from traces t
    where t.org_id = new.org_id and t.project_id = new.project_id and t.period = new.period
      and t.trace_id = new.trace_id;
  end if;
  return new;
end $$;
create trigger verdicts_completed before insert or update on verdicts for each row
  when (new.started_at is null or new.reason_code is distinct from new.reasons -> 0 ->> 'code')
  execute function complete_verdict();

create function complete_trace_search() returns trigger language plpgsql as $$
begin
  select t.started_at into new.started_at from traces t
  where t.org_id = new.org_id and t.project_id = new.project_id and t.period = new.period
    and t.trace_id = new.trace_id;
  return new;
end $$;
create trigger trace_search_completed before insert or update on trace_search for each row
  when (new.started_at is null) execute function complete_trace_search();

-- A trace that is changed may be of another agent or time.
create function move_verdict() returns trigger language plpgsql as $$
begin
  update verdicts v set agent_name = new.agent_name, started_at = new.started_at
  where v.org_id = new.org_id and v.project_id = new.project_id and v.period = new.period
    and v.trace_id = new.trace_id;
  return null;
end $$;
create trigger traces_moved after update of agent_name, started_at on traces for each row
  when ((new.agent_name, new.started_at) is distinct from (old.agent_name, old.started_at))
  execute function move_verdict();
