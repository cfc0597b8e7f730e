-- One spelling, that of the wire. The queue library's own rows keep theirs.
alter table jobs
  drop constraint jobs_state_check, drop constraint jobs_check, drop constraint jobs_check2;
update jobs set state = 'canceled' where state = 'cancelled';
alter table jobs
  add constraint jobs_state_check
    check (state in ('queued', 'running', 'cancelling', 'succeeded', 'failed', 'canceled')),
  add constraint jobs_check
    check ((finished_at is not null) = (state in ('succeeded', 'failed', 'canceled'))),
  add constraint jobs_check2
    check (state not in ('cancelling', 'canceled') or cancel_requested_at is not null);

alter table job_attempts drop constraint job_attempts_outcome_check;
update job_attempts set outcome = 'canceled' where outcome = 'cancelled';
alter table job_attempts
  add constraint job_attempts_outcome_check
    check (outcome in ('succeeded', 'failed', 'canceled', 'released', 'continued', 'lost'));

-- Processes older than this schema run on while newer ones start, and write `cancelled`.
create function spell_state() returns trigger language plpgsql as $$
begin
  new.state := 'canceled';
  return new;
end $$;
create function spell_outcome() returns trigger language plpgsql as $$
begin
  new.outcome := 'canceled';
  return new;
end $$;
create trigger jobs_spelling before insert or update of state on jobs
  for each row when (new.state = 'cancelled') execute function spell_state();
create trigger job_attempts_spelling before insert or update of outcome on job_attempts
  for each row when (new.outcome = 'cancelled') execute function spell_outcome();
