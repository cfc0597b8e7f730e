// Runs first of all in the process of each test file. tap would have each process record the modules that it
// loads, for which all of them are read again: a third of the time of starting one. Without the record there is
// neither `tap --changed` nor coverage; for these take NODE_OPTIONS out of package.json.
process.env['_TAPJS_PROCESSINFO_EXCLUDE_'] = '/./'
// How this was loaded. A test may start programs in other folders.
delete process.env['NODE_OPTIONS']
