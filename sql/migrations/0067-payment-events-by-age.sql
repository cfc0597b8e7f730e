-- serves: 16
-- Those that are deleted for their age.
create index concurrently if not exists payment_events_by_age on payment_events (received_at);
