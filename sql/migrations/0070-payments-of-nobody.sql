-- serves: 16
-- Those that are applied once their customer is bound to an organization. A hash, since the text is the
-- processor's and may have any length.
create index concurrently if not exists payment_events_of_nobody on payment_events
  using hash (coalesce(payload #>> '{data,object,customer,id}', payload #>> '{data,object,customer}'))
  where ignored = 'no_organization';
