import t from 'tap'
import { makeSkill, publishSkill } from '../../support/registry.ts'
import { openService } from '../../support/service.ts'

t.test('benchmarks of a skill', async (t) => {
  const service = await openService(t)
  const { sql } = service

  async function setup() {
    const org = await service.makeOrganization()
    const client = service.client(org.key)
    const skill = await makeSkill(sql, org.orgId, { name: 's' }, [{ body: 'one' }, { body: 'two' }])
    const send = (more: object = {}) => client.post('/skills/s/benchmarks', { ...RUN, ...more })
    const due = async () => {
      const rows = await sql`select skill_name from skill_scores_due where org_id = ${org.orgId}`
      return rows.map(({ skill_name }) => skill_name as string)
    }
    return { ...org, client, skill, send, due }
  }
  const cases = (...outcomes: string[]) =>
    outcomes.map((ended, i) => {
      const [withSkill, without] = ended.split('/')
      return { case_id: `c${i}`, with: withSkill, without }
    })
  const RUN = {
    suite: 'orders',
    suite_sha256: 'ab'.repeat(32),
    runner: 'runner 1',
    run_at: '2026-01-02T03:04:05Z',
    cases: cases('passed/passed'),
  }

  t.test('are stored with the counts of the cases that can be compared', async (t) => {
    const { send, skill, due } = await setup()
    const sent = cases(
      'passed/failed',
      'passed/passed',
      'failed/passed',
      'failed/failed',
      'passed/errored',
      'not_attempted/passed',
    )
    const [first] = sent
    const counted = { ...first, tokens: { with: 90, without: 100 }, turns: { with: 3, without: 2 } }
    const { status, body } = await send({ cases: [counted, ...sent.slice(1)] })
    t.equal(status, 201)
    t.match(body, {
      version_id: skill.versionIds[1],
      version_number: 2,
      suite: 'orders',
      suite_sha256: RUN.suite_sha256,
      runner: 'runner 1',
      run_at: '2026-01-02T03:04:05.000Z',
      total_cases: 6,
      errored_cases: 1,
      compared_cases: 4,
      passed_cases: 2,
      passed_without: 2,
      flipped_to_fail: 1,
      voided: false,
      verdict: 'mixed',
      never_hurt: false,
      pass_rate_delta_pts: 0,
      tokens_delta_pct: -10,
      turns_delta_pct: 50,
    })
    t.same(await due(), ['s'])
  })

  t.test('are void when more than a quarter of their cases had an error', async (t) => {
    const { send } = await setup()
    const quarter = cases('errored/passed', 'passed/passed', 'passed/failed', 'passed/passed')
    t.match((await send({ cases: quarter })).body, { voided: false, verdict: 'pass' })
    const more = cases('errored/passed', 'passed/errored', 'passed/passed', 'passed/passed')
    const { status, body } = await send({ cases: more, runner: 'runner 2' })
    t.equal(status, 201)
    t.match(body, { voided: true, verdict: 'error', compared_cases: 2 })
    const none = await send({ cases: cases('errored/errored'), runner: 'runner 3' })
    t.match(none.body, { voided: true, compared_cases: 0, pass_rate_delta_pts: null })
  })

  t.test('are stored once, however often they are told', async (t) => {
    const { send, orgId, due } = await setup()
    const all = await Promise.all(Array.from({ length: 4 }, () => send()))
    t.equal(all.filter(({ status }) => status === 201).length, 1)
    t.equal(all.filter(({ status }) => status === 200).length, 3)
    t.equal(new Set(all.map((each) => each.body.id)).size, 1)
    await sql`delete from skill_scores_due where org_id = ${orgId}`
    t.equal((await send({ cases: cases('failed/failed') })).body.verdict, 'pass')
    t.same(await due(), [], 'no score is due for what is known')
    t.equal((await send({ version: 1 })).status, 201, 'another version')
    t.equal((await send({ runner: 'runner 2' })).status, 201, 'another runner')
  })

  t.test('have a public skill scored at once', async (t) => {
    const { send, skill } = await setup()
    const scored = () => service.boss.findJobs('skills.score', { key: skill.id })
    await send()
    t.same(await scored(), [], 'a private one has no score')
    await publishSkill(sql, skill)
    await send({ runner: 'runner 2' })
    await send({ runner: 'runner 2' })
    t.match(await scored(), [{ state: 'created', data: { payload: { skill_id: skill.id } } }])
    t.equal((await scored()).length, 1)
  })

  t.test('are of the version that they name', async (t) => {
    const { send, skill } = await setup()
    const [first, second] = skill.versionIds
    t.equal((await send({ version: 1 })).body.version_id, first)
    t.equal((await send({ version: first, runner: '2' })).body.version_id, first)
    t.equal((await send({ version: 'latest', runner: '3' })).body.version_id, second)
    t.equal((await send({ version: 3 })).status, 404)
    t.equal((await send({ version: skill.id })).status, 404)
  })

  t.test('are refused when they are not as they should be', async (t) => {
    const { send, client } = await setup()
    const refused = async (more: object, field: string) => {
      const { status, body } = await send(more)
      t.equal(status, 422)
      t.equal(body.details.errors[0].field, field)
    }
    const [one] = cases('passed/passed')
    await refused({ cases: [] }, 'body.cases')
    await refused({ cases: [one, one] }, 'body.cases')
    await refused({ cases: Array.from({ length: 5001 }, () => one) }, 'body.cases')
    await refused({ cases: cases('passed/maybe') }, 'body.cases.0.without')
    await refused({ suite_sha256: 'abc' }, 'body.suite_sha256')
    await refused({ runner: 'a\0' }, 'body.runner')
    const later = new Date(Date.now() + 3_600_000).toISOString()
    await refused({ run_at: later }, 'body.run_at')
    t.equal((await client.post('/skills/nobody/benchmarks', RUN)).status, 404)
    const other = await service.makeOrganization()
    t.equal((await service.client(other.key).post('/skills/s/benchmarks', RUN)).status, 404)
  })

  t.test('are listed, the newest first, in pages', async (t) => {
    const { send, client } = await setup()
    for (const day of ['02', '04', '03']) await send({ run_at: `2026-01-${day}T00:00:00Z` })
    await send({ run_at: '2026-01-04T00:00:00Z', version: 1 })
    const list = async (query: string) => (await client.get(`/skills/s/benchmarks?${query}`)).body
    const all = await list('')
    const ids = (page: { benchmarks: { id: string }[] }) => page.benchmarks.map(({ id }) => id)
    t.equal(all.total, 4)
    t.same(
      all.benchmarks.map(({ run_at }: { run_at: string }) => run_at.slice(8, 10)),
      ['04', '04', '03', '02'],
    )
    const first = await list('limit=1')
    const second = await list(`limit=3&cursor=${first.next_cursor}`)
    t.same([...ids(first), ...ids(second)], ids(all))
    t.equal(second.next_cursor, null)
    t.equal((await client.get('/skills/nobody/benchmarks')).status, 404)
  })

  t.test('are imported as the open-source runner writes them', async (t) => {
    const { client, due } = await setup()
    const arm = (more: object) => ({ passed: true, task_attempted: true, errored: false, ...more })
    const document = {
      total_cases: 3,
      verdict: 'mixed',
      format: 'skillevaluation/test-run-result@v1',
      skill: { name: 's' },
      runner: { name: 'skillevaluation-reference-runner', version: '0.8.0', adapter_identity: 'm' },
      completed_at: '2026-01-02T03:04:05Z',
      cases: [
        {
          case_name: 'rescued',
          outcome: 'flip_to_pass',
          with_skill: arm({ total_tokens: 150, turns: 2 }),
          without_skill: arm({ passed: false, total_tokens: 100, turns: 4 }),
          transcripts: { with: 'x' },
        },
        { case_name: 'broken', outcome: 'error', error: 'setup failed' },
        { case_name: 'hurt', outcome: 'flip_to_fail' },
        { case_name: 'kept', outcome: 'pass_kept' },
        { case_name: 'hard', outcome: 'fail_kept' },
        {
          case_name: 'silent',
          outcome: 'fail_kept',
          with_skill: arm({ passed: false, task_attempted: false }),
        },
        { case_name: 'rescued', outcome: 'fail_kept' },
        { case_name: 'strange', outcome: 'who knows' },
        'no case',
      ],
    }
    const push = (more: object = {}) =>
      client.post('/skills/s/benchmark/import', { ...document, ...more })
    const { status, body } = await push()
    t.equal(status, 201)
    t.match(body, {
      imported_cases: 6,
      total_cases: 9,
      overall_verdict: 'mixed',
      skipped_cases: ['rescued', 'strange', '#9'],
      benchmark: {
        suite: 's',
        runner: 'skillevaluation-reference-runner 0.8.0 m',
        run_at: '2026-01-02T03:04:05.000Z',
        errored_cases: 1,
        compared_cases: 4,
        passed_cases: 2,
        flipped_to_fail: 1,
        tokens_delta_pct: 50,
        turns_delta_pct: -50,
      },
    })
    t.same(await due(), ['s'])
    t.equal((await push()).status, 200)
    t.match((await push({ cases: document.cases.slice(0, 1) })).body, {
      imported_cases: 1,
      overall_verdict: 'pass',
    })
    const none = await push({ cases: ['no case'] })
    t.equal(none.status, 422)
    t.equal(none.body.details.errors[0].field, 'body.cases')
    t.equal((await push({ version: 7 })).status, 404)
  })

  t.test('are imported in the form in which they are stored, too', async (t) => {
    const { client, send } = await setup()
    const stored = (await send()).body
    const again = await client.post('/skills/s/benchmark/import', RUN)
    t.equal(again.status, 200)
    t.match(again.body, { imported_cases: 1, skipped_cases: [], benchmark: { id: stored.id } })
  })

  t.test('are not run here', async (t) => {
    const { client } = await setup()
    const { status, body } = await client.post('/skills/s/benchmark/run?model=x')
    t.equal(status, 501)
    t.equal(body.code, 'not_supported')
    t.equal((await client.post('/skills/nobody/benchmark/run')).status, 404)
  })
})
