-- serves: 16
-- Cursors carry the time in milliseconds, as JavaScript has it: a page that ended within a millisecond lost
-- the other deliveries of that millisecond, such as those of one transaction.
alter table deliveries alter column created_at set default date_trunc('milliseconds', now());
