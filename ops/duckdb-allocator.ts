/**
 * Has DuckDB give memory that it has freed back to the system after a tenth of a second, and take all of it from
 * one arena. Its allocator reads this when the library is loaded, so this module has to be imported first.
 * Without it, what the steps of a build free adds up to several hundred MiB above the limit of DuckDB's buffers;
 * where it is given back at once, a seventh of a build goes into getting it again.
 */
process.env['DUCKDB_JE_MALLOC_CONF'] ??= 'dirty_decay_ms:100,muzzy_decay_ms:0,narenas:1'
