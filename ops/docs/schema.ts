import type { Queryable } from '../../sql/core/db.ts'

/** A table of ours as the database knows it; partitions and the tables of the queue are none. */
export interface SchemaTable {
  readonly name: string
  readonly has_org: boolean
  /** Its `org_id` may be null. */
  readonly is_nullable: boolean
  readonly is_partitioned: boolean
  /** Primary keys, unique constraints and unique indexes, without expressions. */
  readonly unique_keys: readonly { readonly name: string; readonly columns: readonly string[] }[]
  readonly foreign_keys: readonly ForeignKey[]
  readonly triggers: readonly string[]
}

export interface ForeignKey {
  readonly name: string
  readonly target: { readonly name: string; readonly has_org: boolean }
  readonly columns: readonly string[]
  readonly target_columns: readonly string[]
  /** On delete and on update, such as `cascade` or `set null`. */
  readonly actions: readonly string[]
}

/** All tables of the schema public, by name, with their keys by name. */
export async function readSchema(sql: Queryable): Promise<SchemaTable[]> {
  return sql<SchemaTable[]>`
    with ours as (
      select c.oid, c.relname as name, c.relkind = 'p' as is_partitioned,
        org.attname is not null as has_org, org.attname is not null and not org.attnotnull as is_nullable
      from pg_class c
      left join pg_attribute org on org.attrelid = c.oid and org.attname = 'org_id'
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition)
    select t.name, t.is_partitioned, t.has_org, t.is_nullable,
      (select coalesce(json_agg(json_build_object('name', x.relname, 'columns', array(
          select a.attname from unnest(i.indkey::int2[]) with ordinality k (number, at)
          join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.number
          where k.at <= i.indnkeyatts order by k.at)) order by x.relname), '[]')
        from pg_index i join pg_class x on x.oid = i.indexrelid
        where i.indrelid = t.oid and i.indisunique) as unique_keys,
      (select coalesce(json_agg(json_build_object('name', k.conname,
          'target', json_build_object('name', r.name, 'has_org', r.has_org),
          'columns', ${columns(sql, 'conrelid', 'conkey')},
          'target_columns', ${columns(sql, 'confrelid', 'confkey')},
          'actions', array[${action(sql, 'confdeltype')}, ${action(sql, 'confupdtype')}])
          order by k.conname), '[]')
        from pg_constraint k join ours r on r.oid = k.confrelid
        where k.conrelid = t.oid and k.contype = 'f' and k.conparentid = 0) as foreign_keys,
      array(select g.tgname from pg_trigger g where g.tgrelid = t.oid and not g.tgisinternal
        order by g.tgname) as triggers
    from ours t order by t.name`
}

function columns(sql: Queryable, relation: string, key: string) {
  return sql`array(
    select a.attname from unnest(k.${sql(key)}) with ordinality c (number, at)
    join pg_attribute a on a.attrelid = k.${sql(relation)} and a.attnum = c.number order by c.at)`
}

function action(sql: Queryable, column: string) {
  return sql`case k.${sql(column)} when 'a' then 'no action' when 'r' then 'restrict'
    when 'c' then 'cascade' when 'n' then 'set null' else 'set default' end`
}
