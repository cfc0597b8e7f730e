// Runs after every `npm install`: repairs pinned packages. Each repair goes when a release has it.
//
// The PostgreSQL driver (postgres 3.4.9), in how it loses a connection. As published, a backend that ends in the middle of its work can
//   - crash the process from a timer callback that nothing can catch (porsager/postgres#1208),
//   - leave the pooled connection unable to send anything ever again (#1154),
//   - leave queries pending for ever (#1186), or reject a promise that nobody holds, and
//   - let the rest of a transaction run on a replacement connection, outside any transaction or
//     inside somebody else's (#1204, #1216).
// The repairs go the way of the pull requests #1209 and #1215; test/sql/connection-loss.test.ts shows
// them. Besides, small messages are sent at once: each COPY ends with one, which otherwise waits 40 ms or
// more for the server to acknowledge the message before. And a transaction can begin on a connection that
// sends one query after the other, as it must to PgBouncer (test/ops/pgbouncer.test.ts).
//
// The documentation page (hapi-swagger 17.3.2): to learn where the files of the page are, it runs the
// whole page in this process. That takes a quarter of a second and 39 MB, and Node.js warns of the
// localStorage that the page looks for.
import { readFileSync, writeFileSync } from 'node:fs'

const repairs = {
  'postgres/src/connection.js': [
    [`        : new net.Socket()`, `        : new net.Socket().setNoDelay(true)`],
    [
      `  function nextWrite(fn) {
    const x = socket.write(chunk, fn)`,
      `  function nextWrite(fn) {
    if (socket === null) {
      dropWrites()
      dropQueries(Errors.connection('CONNECTION_CLOSED', options))
      return false
    }
    const x = socket.write(chunk, fn)`,
    ],
    [
      `  function connectTimedOut() {`,
      `  function dropWrites() {
    clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
  }

  function dropQueries(err) {
    stream && (stream.destroy(err), stream = null)
    query && queryError(query, err)
    while (sent.length)
      queryError(sent.shift(), err)
    query = results = errorResponse = final = null
    result = new Result()
    rows = 0
  }

  function connectTimedOut() {`,
    ],
    [
      `      error(Errors.connection('CONNECTION_DESTROYED', options))

    clearImmediate(nextWriteTimer)`,
      `      error(Errors.connection('CONNECTION_DESTROYED', options))

    dropWrites()`,
    ],
    [
      `    incomings = null
    clearImmediate(nextWriteTimer)`,
      `    incomings = null
    dropWrites()`,
    ],
    [
      `    socket = null

    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
`,
      `    socket = null
    dropQueries(Errors.connection('CONNECTION_CLOSED', options))

    if (initial)
      return reconnect()

`,
    ],
    [
      `        && sent.length < max_pipeline
        && (!q.options.onexecute || q.options.onexecute(connection))`,
      `        && (!q.options.onexecute || q.options.onexecute(connection))
        && sent.length < max_pipeline`,
    ],
    [
      `        return fetchArrayTypes()`,
      `        return fetchArrayTypes().catch(() => socket && socket.destroy())`,
    ],
  ],
  'postgres/src/index.js': [
    [
      `    c.reserved.release = true

    const sql = Sql(handler)
    sql.release = () => {
      c.reserved = null`,
      `    c.reserved.release = true
    const mine = c.reserved
    c.onclose = e => rejectAll(queue, e)

    const sql = Sql(handler)
    sql.release = () => {
      if (c.reserved !== mine)
        return
      c.reserved = null`,
    ],
    [
      `    function handler(q) {
      c.queue === full
        ? queue.push(q)`,
      `    function handler(q) {
      if (c.reserved !== mine)
        return q.reject(Errors.connection('CONNECTION_CLOSED', options))
      c.queue === full
        ? queue.push(q)`,
    ],
    [
      `  async function begin(options, fn) {`,
      `  function rejectAll(queue, e) {
    while (queue.length)
      queue.shift().reject(e)
  }

  async function begin(options, fn) {`,
    ],
    [
      `      , prepare = null

    try {`,
      `      , prepare = null
      , lost = null

    try {`,
    ],
    [
      `        new Promise((_, reject) => connection.onclose = reject)`,
      `        new Promise((_, reject) => connection.onclose = e => {
          lost = e
          rejectAll(queries, e)
          reject(e)
        })`,
    ],
    [
      `        q.catch(e => uncaughtError || (uncaughtError = e))
`,
      `        q.catch(e => uncaughtError || (uncaughtError = e))
        if (lost)
          return q.reject(lost)
`,
    ],
  ],
  'hapi-swagger/lib/index.js': [
    [
      `require('swagger-ui-dist').getAbsoluteFSPath()`,
      `require('swagger-ui-dist/absolute-path.js')()`,
    ],
  ],
}

for (const [name, replacements] of Object.entries(repairs)) {
  const file = new URL(`../node_modules/${name}`, import.meta.url)
  let text = readFileSync(file, 'utf8')
  for (const [from, to] of replacements) {
    if (text.includes(to)) continue
    if (text.split(from).length !== 2) throw new Error(`${name} is not as in the pinned release`)
    text = text.replace(from, () => to)
  }
  writeFileSync(file, text)
}
