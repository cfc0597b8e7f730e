import t from 'tap'
import { openService } from '../../support/service.ts'
import { storeJudged } from '../../support/stored-traces.ts'

t.test('the histogram of qualities', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const { get, post } = service.client(org.key)
  const countsOf = async (query = '') => {
    const { body } = await get(`/traces/eval/histogram${query}`)
    const counts = body.bins.map(({ count }: { count: number }) => count) as number[]
    t.equal(
      body.total,
      counts.reduce((sum, n) => sum + n, 0),
      query,
    )
    return counts
  }
  const none = Array.from({ length: 20 }, () => 0)

  t.test('has all bins, whatever there is', async (t) => {
    const { status, body } = await get('/traces/eval/histogram')
    t.equal(status, 200)
    t.equal(body.bins.length, 20)
    t.same(body.bins[0], { from: 0, to: 0.05, count: 0 })
    t.same(body.bins[19], { from: 0.95, to: 1, count: 0 })
    t.equal(body.total, 0)
  })

  t.test('counts a quality in the bin that begins with it, and 1 in the last', async (t) => {
    const qualities = Array.from({ length: 21 }, (_, n) => n / 20)
    const traces = qualities.map((quality, n) => ({ trace_id: `edge ${n}`, quality }))
    const unscored = [
      { trace_id: 'without a quality', quality: null, verdict: 'drop' as const },
      { trace_id: 'without a verdict', quality: 0.5, verdict: null },
    ]
    await storeJudged(service.sql, org, [
      ...traces,
      { trace_id: 'between', quality: 0.499999 },
      ...unscored,
    ])
    t.same(
      await countsOf(),
      none.map((_, bin) => (bin === 9 || bin === 19 ? 2 : 1)),
    )
  })

  t.test('is of an agent, a project, and a time', async (t) => {
    const other = await service.makeOrganization()
    t.same(await countsOf('?agent_name=nobody'), none)
    await storeJudged(service.sql, org, [
      { trace_id: 'old', agent_name: 'b', quality: 0.61, started_at: '2026-01-01T00:00:00Z' },
      { trace_id: 'new', agent_name: 'b', quality: 0.82, started_at: '2026-01-02T12:00:00Z' },
    ])
    const only = (...bins: readonly number[]) => none.map((_, n) => (bins.includes(n) ? 1 : 0))
    t.same(await countsOf('?agent_name=b'), only(12, 16))
    t.same(await countsOf('?agent_name=b&since=2026-01-02T12:00:00Z'), only(16))
    t.same(await countsOf('?agent_name=b&since=2026-01-02T12:00:00.001Z'), none)
    const project = await post('/projects', {
      name: 'elsewhere',
      workspace_id: org.workspaceId,
    })
    await storeJudged(service.sql, { ...org, projectId: project.body.id }, [
      { trace_id: 'elsewhere', agent_name: 'b', quality: 0.3 },
    ])
    t.same(await countsOf('?project=elsewhere'), only(6))
    t.same(await countsOf('?project=default&agent_name=b'), only(12, 16))
    t.same(await countsOf('?agent_name=b'), only(6, 12, 16))
    const theirs = await service.client(other.key).get('/traces/eval/histogram')
    t.equal(theirs.body.total, 0)
    t.equal((await get('/traces/eval/histogram?project=none')).status, 404)
  })
})
