import t from 'tap'
import { judgeTracesHandler } from '../../../workers/evals/judge-traces.ts'
import { checkPage, visit } from '../../support/console.ts'
import { makeTestKey, openService } from '../../support/service.ts'

t.test('the review queue', async (t) => {
  const service = await openService(t)
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })
  await service.startWorkers([judgeTracesHandler])
  const look = (path = '/console/review') => visit(service, org.key, path)
  const hrefOf = ({ document }: Awaited<ReturnType<typeof look>>, key: string) =>
    document.querySelector(`[data-key=${key}]`)?.getAttribute('href') ?? ''

  await t.test('says where doubts come from when there is none', async (t) => {
    const page = await look()
    t.match(page.text, /No trace needs a person A verdict is in doubt where/)
    await checkPage(t, page)
  })

  const hostile = '<script>alert(1)</script> \u202Egnp.exe'
  await client.post('/traces/batch', [
    ...['first', 'second', 'third'].map((trace_id, n) => ({
      trace_id,
      agent_name: 'support',
      started_at: new Date(Date.UTC(2026, 0, 9 - n)).toISOString(),
      user_input_preview: hostile,
      llm_calls: [
        {
          rendered_input: [{ role: 'user', content: hostile }],
          output: { content: `of ${trace_id}` },
        },
      ],
      scores: { judge: 0.5 },
    })),
    { trace_id: 'fine', agent_name: 'support', scores: { judge: 1 } },
  ])
  await client.post('/traces/batch-decision', { trace_ids: ['first', 'second', 'third', 'fine'] })

  await t.test('shows the newest trace in doubt with its keys', async (t) => {
    const page = await look()
    t.match(page.text, /3 left .*first .* not bad enough to drop .*of first/)
    t.same(
      [...page.document.querySelectorAll('main [data-key]')].map((key) =>
        key.getAttribute('data-key'),
      ),
      ['o', 'y', '1', '2', '3', '4', '5', 'c', 's'],
    )
    t.notOk(page.markup.includes('<script>alert'))
    await checkPage(t, page)
  })

  await t.test('leads on by skipping, back, and to the end', async (t) => {
    const second = await look(hrefOf(await look(), 's'))
    t.match(second.text, /of second/)
    const before = await look(hrefOf(second, 'u'))
    t.match(before.text, /of first/)
    t.match((await look(hrefOf(before, 's'))).text, /of second/)
    const third = await look(hrefOf(second, 's'))
    t.match(third.text, /of third/)
    const end = await look(hrefOf(third, 's'))
    t.match(end.text, /You have seen them all/)
    await checkPage(t, end)
    t.match((await look(hrefOf(end, 's'))).text, /of first/)
  })

  await t.test('sends what settles the doubt, and shows it when somebody goes back', async (t) => {
    const page = await look()
    const button = page.document.querySelector('[data-key=y]')
    const [method, path = ''] = button?.getAttribute('data-send')?.split(' ') ?? []
    t.equal(method, 'POST')
    const body = JSON.parse(button?.getAttribute('data-body') ?? '') as object
    const answer = await client.post(path.replace('/api/v1', ''), body)
    t.equal(answer.status, 201)
    await client.get(`/jobs/${answer.body.verdict_job_id}?wait=30`)
    const next = await look(button?.getAttribute('data-then') ?? '')
    t.match(next.text, /2 left .*of second/)
    const back = await look(hrefOf(next, 'u'))
    t.match(back.text, /A person said 5 of 5/)
    t.match((await look(hrefOf(back, 's'))).text, /of second/)
  })

  await t.test('has no buttons for who may only read', async (t) => {
    const page = await visit(service, read.raw, '/console/review')
    t.same(page.actions, [])
    t.match(page.text, /Your key may only read/)
    await checkPage(t, page)
  })
})
