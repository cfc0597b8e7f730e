-- serves: 16
-- The payment processor's subscription that gave the organization its plan. Null where nobody knows of one, as
-- of all plans before this; the release before gives plans without a word here.
alter table organizations
  add column plan_subscription_id text,
  -- When it was made, in seconds since 1970: a newer one takes its place.
  add column plan_subscription_created bigint;
