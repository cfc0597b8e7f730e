-- serves: 16
-- It ended the thread that examines traces, alone too, and is not opened there again.
alter table trace_examinations add column given_up boolean not null default false;
