import { randomUUIDv7 } from 'node:crypto'
import t from 'tap'
import { importTraces } from '../../jobs/import-traces.ts'
import { runCommand } from '../support/command.ts'
import { openService } from '../support/service.ts'

t.test('limits of one organization in one queue', async (t) => {
  const service = await openService(t)
  const { orgId: org, key } = await service.makeOrganization()
  const run = (name: string, options: object = {}) => runCommand(service, name, options)
  const { name } = importTraces

  t.test('are set, listed, replaced and taken away', async (t) => {
    await run('queue limit', { name, org, 'max-running': 2, reason: 'a backlog' })
    t.match(await run('queue limits'), {
      limits: [{ queue: name, org_id: org, paused: false, max_running: 2, reason: 'a backlog' }],
    })
    await run('queue limit', { name, org, pause: true })
    t.match(await run('queue limits', { org }), { limits: [{ paused: true, max_running: null }] })
    t.match(await run('queue limits', { org: randomUUIDv7() }), { limits: [] })
    t.match(await run('queue unlimit', { name, org }), { was_limited: true })
    t.match(await run('queue unlimit', { name, org }), { was_limited: false })
    await run('org suspend', { org })
    await run('org resume', { org })
    const { body } = await service.client(key).get('/changelog?types=audit')
    t.match(
      body.events.map(({ title }: { title: string }) => title.replace(/'.*'/, 'it')),
      [
        'Organization it resumed',
        'Organization it suspended',
        'Organization it unlimited',
        'Organization it limited',
        'Organization it limited',
      ],
      'and its changelog tells',
    )
    t.notMatch(JSON.stringify(body), /a backlog/, 'but not why')
  })

  t.test('are refused for what there is not, and when they say nothing', async (t) => {
    const no = { name: 'no.queue', org, pause: true }
    await t.rejects(run('queue limit', no), /There is no queue no.queue/)
    const nobody = { name, org: randomUUIDv7(), pause: true }
    await t.rejects(run('queue limit', nobody), /There is no organization/)
    await t.rejects(run('queue limit', { name, org }), /--max-running N, or --pause/)
  })
})
