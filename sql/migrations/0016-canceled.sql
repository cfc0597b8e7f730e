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
