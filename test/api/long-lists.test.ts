import t from 'tap'
import { MAX_FAULTS } from '../../jobs/rules/core/reader.ts'
import { int, listOf } from '../../jobs/shape.ts'
import { operations } from '../../api/routes.ts'
import { openService } from '../support/service.ts'

t.test('a list that is too long', async (t) => {
  t.test('costs a look at its length', async (t) => {
    let looked = 0
    const item = int(1, 9).custom((value: unknown) => {
      looked++
      return value
    })
    const list = listOf(item).max(3)
    t.match(list.validate([1, 2, 3, 4], { abortEarly: false }).error?.details, [
      { type: 'array.max', context: { limit: 3 } },
    ])
    t.equal(looked, 0)
    t.notOk(list.validate([1, 2, 3]).error)
    t.equal(looked, 3)
  })

  t.test('is known as one in every body', async (t) => {
    let lists = 0
    for (const { method, path, body } of operations) {
      if (!body || 'stream' in body || 'read' in body) continue
      for (const { rules = [] } of arraysIn(body.describe())) {
        lists++
        t.ok(
          rules.some(({ name }) => name === 'max'),
          `${method} ${path}`,
        )
      }
    }
    t.ok(lists > 5, `${lists} lists`)
  })

  const service = await openService(t)
  const org = await service.makeOrganization()
  const ask = async (path: string, body: object) => {
    const { statusCode, payload } = await service.server.inject({
      method: 'POST',
      url: `/api/v1${path}`,
      headers: { authorization: `Bearer ${org.key}` },
      payload: body,
    })
    return { status: statusCode, payload, body: JSON.parse(payload) as Answer }
  }
  const ones = (count: number) => Array<number>(count).fill(1)

  t.test('is refused, and so is one of which every item is wrong', async (t) => {
    const tooMany = { field: 'body.trace_ids', message: /1000 items/ }
    const bodies: [string, object, object[]][] = [
      ['/traces/batch-decision', { trace_ids: ones(200_000) }, [tooMany]],
      [
        '/eval-scores',
        { scores: ones(200_000) },
        [{ field: 'body.scores', message: /5000 items/ }],
      ],
      [
        '/traces',
        { agent_name: 'a', tags: ones(200_000) },
        [{ field: 'body.tags', message: /1000 items/ }],
      ],
      ['/traces', { agent_name: 'a', tags: ones(1000) }, [{ field: 'body.tags.0' }]],
    ]
    for (const [path, body, errors] of bodies) {
      const answer = await ask(path, body)
      t.equal(answer.status, 422, path)
      t.match(answer.body.details.errors.slice(0, 1), errors)
      t.ok(answer.payload.length < 20_000, `${path}: ${answer.payload.length}`)
    }
  })

  t.test('of faults says that there are more', async (t) => {
    const { body } = await ask('/traces', { agent_name: 'a', tags: ones(1000) })
    t.match(body.detail, `and at least ${MAX_FAULTS - 1} more`)
    t.equal(body.details.errors.length, 100)
    const few = await ask('/traces', { agent_name: 'a', tags: ones(20) })
    t.match(few.body.detail, 'and 19 more')
  })
})

interface Answer {
  detail: string
  details: { errors: { field: string }[] }
}

interface Described {
  type?: string
  rules?: { name: string }[]
}

/** The descriptions of all lists in a schema's. */
function arraysIn(described: unknown): Described[] {
  if (typeof described !== 'object' || described === null) return []
  const inside = Object.values(described).flatMap(arraysIn)
  return (described as Described).type === 'array' && 'items' in described
    ? [described as Described, ...inside]
    : inside
}
