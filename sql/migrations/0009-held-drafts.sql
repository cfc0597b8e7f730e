-- The parent of a version is the one that was active when it was registered.

-- No trace activates the draft: only a person does, or an accepted check.
alter table manifests add column is_held boolean not null default false;
update manifests set is_held = true where status = 'draft';
create index manifests_awaiting on manifests (org_id, project_id)
  where status = 'draft' and not is_held;

-- Read from a file: it may say that it is of production, but does not show what runs there.
alter table traces add column is_imported boolean not null default false;

-- `created` is a version that is active since its registration, `activated` one that was a draft.
alter table manifest_activations drop constraint manifest_activations_kind_check;
alter table manifest_activations add constraint manifest_activations_kind_check
  check (kind in ('created', 'activated', 'reactivated'));
