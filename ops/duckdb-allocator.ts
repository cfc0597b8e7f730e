/**
 * Has DuckDB give memory that it frees back to the system at once. Its allocator reads this when the library
 * is loaded, so this module has to be imported first. Without it, what the steps of a build free adds up to
 * several hundred MiB above the limit of DuckDB's buffers.
 */
process.env['DUCKDB_JE_MALLOC_CONF'] ??= 'dirty_decay_ms:0,muzzy_decay_ms:0'
