/**
 * Has DuckDB keep what it has freed for a tenth of a second, and take all its memory from one arena. Its allocator
 * reads this when the library is loaded, so this module is imported first, before any handler is loaded. Without it,
 * what the steps of a build free adds up to several hundred MiB above the limit of DuckDB's buffers; where it is given
 * back at once, a seventh of a build goes into getting it again. It is given back while more is freed or taken, and
 * all of it when a DuckDB is closed; its threads for this end with the first DuckDB that is closed.
 */
process.env['DUCKDB_JE_MALLOC_CONF'] ??= 'dirty_decay_ms:100,muzzy_decay_ms:0,narenas:1'
