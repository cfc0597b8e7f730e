-- serves: 16
-- The payment processor's subscriptions that are in force, of which the newest gives an organization its plan.
-- Those that began before this are not among them until their next event, nor are those of events that the
-- release before takes in.
create table plan_subscriptions (
  org_id uuid not null references organizations on delete cascade,
  id text not null,
  -- When it was made, in seconds since 1970.
  created bigint not null,
  plan text not null,
  primary key (org_id, id)
);
