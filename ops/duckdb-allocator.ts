/**
 * Has DuckDB's allocator keep what is freed in one place for all threads, and give it back to the system after a
 * second. It reads this when the library is loaded, so this module has to be imported first. As it comes, each
 * thread keeps memory of its own, several hundred MiB above the limit of DuckDB's buffers. Memory that is given
 * back at once has to be asked for again: that takes half as much time again as the work itself.
 */
process.env['DUCKDB_JE_MALLOC_CONF'] ??= 'narenas:1,dirty_decay_ms:1000,muzzy_decay_ms:0'
