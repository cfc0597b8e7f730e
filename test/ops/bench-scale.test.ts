import t from 'tap'
import { operations } from '../../api/routes.ts'
import { fillIn, NOT_ASKED, operationOf, SCALE_REQUESTS } from '../../ops/bench/scale-requests.ts'

const reads = operations.filter(({ method }) => method === 'GET')
const paths = new Set(reads.map(({ path }) => path))

t.test('the scale bench asks every operation that lists, filters or counts', async (t) => {
  const known = new Set([...SCALE_REQUESTS.map(operationOf), ...Object.keys(NOT_ASKED)])
  const growing = reads.filter(({ query, aggregates }) => query !== undefined || aggregates)
  t.ok(growing.length > 30, `${growing.length} operations`)
  t.strictSame(
    growing.map(({ path }) => path).filter((path) => !known.has(path)),
    [],
  )
})

t.test('the scale bench asks every parameter that filters traces', async (t) => {
  const asked = new Set(
    SCALE_REQUESTS.filter((request) => operationOf(request) === '/traces').flatMap((request) => [
      ...new URL(request, 'http://localhost').searchParams.keys(),
    ]),
  )
  const listed = reads.find(({ path }) => path === '/traces')
  const names = Object.keys(listed?.query?.describe()['keys'] ?? {})
  t.ok(names.length > 20, `${names.length} parameters`)
  // There is one project.
  t.strictSame(
    names.filter((name) => !asked.has(name) && name !== 'project'),
    [],
  )
})

t.test('what the scale bench names are operations, each once', async (t) => {
  t.equal(new Set(SCALE_REQUESTS).size, SCALE_REQUESTS.length)
  for (const request of SCALE_REQUESTS) t.ok(paths.has(operationOf(request)), request)
  for (const path of Object.keys(NOT_ASKED)) {
    t.ok(paths.has(path), path)
    t.notOk(SCALE_REQUESTS.map(operationOf).includes(path), `${path} is not asked`)
  }
})

t.test('a request is filled in with what is known', async (t) => {
  t.equal(
    fillIn('/traces/{trace_id}?q={word}', { trace_id: 'a/b', word: 'c d' }),
    '/traces/a%2Fb?q=c%20d',
  )
  t.throws(() => fillIn('/traces/{trace_id}', {}), { message: /Nothing is known of trace_id/ })
})
