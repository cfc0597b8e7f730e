import t from 'tap'
import { withFollowUps } from '../../../../workers/import/pull/follow-ups.ts'

const window = { from: new Date(0), to: new Date(1) }
const ask = (cursor?: string) => ({ project: 'p', window, limit: 2, cursor })
const row = (text: string) => Buffer.from(text)

t.test('what is said of a page of rows comes before the next page', async (t) => {
  const asked: unknown[] = []
  const listPage = withFollowUps<{ of: string; page: number }>(
    ({ cursor }) => {
      asked.push(cursor)
      const of = cursor ?? 'first'
      const next = cursor === undefined ? 'second' : undefined
      return Promise.resolve({
        records: [row(of)],
        next,
        followUps: [
          { of, page: 0 },
          { of: `${of} again`, page: 1 },
        ],
      })
    },
    (_, { of, page }) => {
      asked.push([of, page])
      const more = page === 0 ? { of, page: 1 } : undefined
      return Promise.resolve({ records: [row(`of ${of}`)], more })
    },
  )
  const read: string[] = []
  let cursor: string | undefined
  do {
    const page = await listPage(ask(cursor))
    for (const record of page.records) read.push(Buffer.from(record).toString())
    cursor = page.next
  } while (cursor !== undefined)
  t.same(asked, [
    undefined,
    ['first', 0],
    ['first', 1],
    ['first again', 1],
    'second',
    ['second', 0],
    ['second', 1],
    ['second again', 1],
  ])
  t.equal(read.length, asked.length)
})

t.test('a platform that would be asked without end is not', async (t) => {
  const records = [row('{}')]
  const samePage = withFollowUps<string>(
    () => Promise.resolve({ records, next: 'same', followUps: [] }),
    () => Promise.resolve({ records }),
  )
  const { next } = await samePage(ask())
  await t.rejects(samePage(ask(next)), /same page/)
  const sameSaid = withFollowUps<string>(
    () => Promise.resolve({ records, next: undefined, followUps: ['same'] }),
    (_, followUp) => Promise.resolve({ records, more: followUp }),
  )
  const { next: said } = await sameSaid(ask())
  await t.rejects(sameSaid(ask(said)), /same page/)
})

t.test('a cursor that does not fit into a checkpoint is the platform’s fault', async (t) => {
  const listPage = withFollowUps<string>(
    () => Promise.resolve({ records: [], next: 'x'.repeat(10_000), followUps: [] }),
    () => Promise.resolve({ records: [] }),
  )
  await t.rejects(listPage(ask()), /long cursor/)
})
