-- serves: 47, contracting
-- Divides the tables of traces by period. Each becomes the first part of a table that takes its name, as it
-- is: no row is read. The release before can neither store nor read traces from here on.

-- All that is needed, before anything is done: from here on nothing waits for those who wait for this, as
-- would be found to be a deadlock and cost one of them its request. `projects` because of its foreign key.
lock table projects, traces, eval_scores, verdicts, trace_search, trace_examinations, agent_edges,
  contract_violations, annotations, trace_revisions in access exclusive mode;

-- What refers to traces goes with their ids since 0040.
do $$
declare key record;
begin
  for key in select conrelid::regclass as of_table, conname from pg_constraint
    where contype = 'f' and confrelid = 'traces'::regclass
  loop
    execute format('alter table %s drop constraint %I', key.of_table, key.conname);
  end loop;
end $$;

drop trigger traces_identified on traces;
drop trigger traces_forgotten on traces;
drop trigger traces_moved on traces;
drop trigger traces_counted_in on traces;
drop trigger traces_counted_anew on traces;
drop trigger traces_counted_out on traces;
drop trigger verdicts_completed on verdicts;
drop trigger verdicts_counted_in on verdicts;
drop trigger verdicts_counted_anew on verdicts;
drop trigger verdicts_counted_out on verdicts;
drop trigger trace_search_completed on trace_search;
drop function identify_trace;

-- Others have taken their place.
drop index traces_session, traces_parent, traces_unlinked, trace_search_document, verdicts_verdict;
alter table traces drop constraint traces_pkey, add primary key using index traces_key;
alter table verdicts drop constraint verdicts_pkey, add primary key using index verdicts_key;
alter table trace_search drop constraint trace_search_pkey, add primary key using index trace_search_key;
alter table eval_scores drop constraint eval_scores_pkey, add primary key using index eval_scores_key;

-- The tables that are divided. Dependents of a trace come after it.
create function partitioned_tables() returns text[] language sql immutable as $$
  select '{traces, eval_scores, verdicts, trace_search}'::text[]
$$;

-- The part of a table that holds a period.
create function partition_name(of_table text, of_period date) returns text language sql immutable as $$
  select of_table || to_char(of_period, '_YYYY_MM')
$$;

-- Makes room for a period; false when it is there. Whoever stores traces meanwhile waits for nothing.
create function make_trace_period(new_period date) returns boolean language plpgsql as $$
declare
  of_table text;
  part text;
begin
  -- First, so that of two that make the same period one waits for the other.
  insert into trace_periods (period) values (new_period) on conflict do nothing;
  if not found then
    return false;
  end if;
  foreach of_table in array partitioned_tables() loop
    part := partition_name(of_table, new_period);
    execute format('create table %I (like %I including all)', part, of_table);
    execute format('alter table %I attach partition %I for values in (%L)', of_table, part, new_period);
  end loop;
  return true;
end $$;

do $$
declare
  first_period constant date := '2000-01-01';
  of_table text;
  part text;
  made record;
begin
  foreach of_table in array partitioned_tables() loop
    part := partition_name(of_table, first_period);
    execute format('alter table %I rename to %I', of_table, part);
    execute format('create table %I (like %I including defaults including constraints including storage
      including compression) partition by list (period)', of_table, part);
    execute format('alter table %I drop constraint %I', of_table, of_table || '_period');
    -- What names no period is refused, because there is none like it.
    execute format('alter table %I alter column period set default %L', of_table, '-infinity');
    for made in
      select c.relname as name, pg_get_indexdef(i.indexrelid) as text, i.indisprimary
      from pg_index i join pg_class c on c.oid = i.indexrelid where i.indrelid = part::regclass
    loop
      execute format('alter index %I rename to %I', made.name, partition_name(made.name, first_period));
      if made.indisprimary then
        execute format('alter table %I add constraint %I %s', of_table, made.name, (
          select pg_get_constraintdef(oid) from pg_constraint
          where conrelid = part::regclass and contype = 'p'));
      else
        execute regexp_replace(made.text, ' ON \S+ USING ', format(' ON %I USING ', of_table));
      end if;
    end loop;
  end loop;

  alter table traces add foreign key (org_id, project_id) references projects;
  foreach of_table in array partitioned_tables() loop
    execute format('alter table %I attach partition %I for values in (%L)',
      of_table, partition_name(of_table, first_period), first_period);
  end loop;

  -- In a new database nothing is of the first period.
  if not exists (select from organizations) then
    foreach of_table in array partitioned_tables() loop
      execute format('drop table %I', partition_name(of_table, first_period));
    end loop;
    delete from trace_periods;
  end if;
  for months_ahead in 0..1 loop
    perform make_trace_period(
      (date_trunc('month', now() at time zone 'UTC') + make_interval(months => months_ahead))::date);
  end loop;
end $$;

create trigger traces_forgotten after delete on traces
  referencing old table as gone for each statement execute function delete_trace_ids();
create trigger traces_moved after update of agent_name, started_at on traces for each row
  when ((new.agent_name, new.started_at) is distinct from (old.agent_name, old.started_at))
  execute function move_verdict();
create trigger verdicts_completed before insert or update on verdicts for each row
  when (new.started_at is null or new.reason_code is distinct from new.reasons -> 0 ->> 'code')
  execute function complete_verdict();
create trigger trace_search_completed before insert or update on trace_search for each row
  when (new.started_at is null) execute function complete_trace_search();
select create_count_triggers('traces'), create_count_triggers('verdicts');

-- Traces without a decision are in no cell from now on; the release before counted them.
insert into score_cells_dirty (org_id, project_id, agent_name, day)
select distinct org_id, project_id, agent_name, day from score_cells where verdict = '';
