-- serves: 16
-- How often a stored trace was changed.
alter table traces add column revision int not null default 0;
