-- What retention looks for every hour.
create index deliveries_finished on deliveries (finished_at) where finished_at is not null;
create index compat_reports_created on compat_reports (created_at);
create index mails_created on mails (created_at);
create index sessions_ended on sessions (expires_at);
