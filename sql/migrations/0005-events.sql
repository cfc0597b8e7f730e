-- Events out and payments in.

create table notification_settings (
  org_id uuid primary key references organizations,
  webhook_url text check (webhook_url like 'https://%'),
  -- Null until somebody sets the list: then every event is sent.
  events text[],
  -- AES-256-GCM under the installation's master key; null sends unsigned.
  secret bytea,
  updated_at timestamptz not null default now()
);

-- One notification to the organization's address, written in the transaction of what it tells about.
-- The body is kept as the bytes that are signed and sent; id is the X-Service-Event-Id.
create table deliveries (
  org_id uuid not null references organizations,
  id uuid not null,
  event text not null,
  body bytea not null check (octet_length(body) <= 65536),
  state text not null default 'pending'
    check (state in ('pending', 'attempting', 'retry_wait', 'delivered', 'failed')),
  attempt_no int not null default 0,
  max_attempts int not null,
  -- Why the newest attempt failed.
  error text,
  redelivery_of uuid,
  created_at timestamptz not null default now(),
  attempted_at timestamptz,
  finished_at timestamptz,
  primary key (org_id, id),
  check (attempt_no <= max_attempts),
  check ((finished_at is not null) = (state in ('delivered', 'failed')))
);
create index deliveries_newest on deliveries (org_id, created_at desc, id desc);
create index deliveries_attempting on deliveries (attempted_at) where state = 'attempting';

create table delivery_attempts (
  org_id uuid not null,
  delivery_id uuid not null,
  number int not null,
  started_at timestamptz not null default now(),
  -- Null until the attempt has ended, and for ever when its worker was lost.
  duration_ms int,
  status_code int,
  error text,
  response_excerpt text,
  primary key (org_id, delivery_id, number),
  foreign key (org_id, delivery_id) references deliveries on delete cascade
);

alter table organizations
  add column payment_customer_id text unique,
  -- Set by a failed payment, cleared by a confirmed one; past it, the limits of the free plan hold.
  add column grace_period_ends timestamptz;

-- Every event the payment processor sent, claimed by its id.
create table payment_events (
  id text primary key,
  type text not null,
  created bigint not null,
  livemode boolean not null,
  org_id uuid references organizations,
  -- Why it had no effect: livemode, superseded, no_organization, not_handled; null when it had one.
  ignored text,
  payload jsonb not null,
  received_at timestamptz not null default now()
);

-- The newest event seen of each of the processor's objects, because events come out of order.
create table payment_objects (
  id text primary key,
  created bigint not null,
  terminal boolean not null,
  confirmed boolean not null default false
);
