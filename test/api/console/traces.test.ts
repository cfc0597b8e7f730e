import { JSDOM } from 'jsdom'
import t from 'tap'
import { buildDialog } from '../../../api/console/traces/build-dialog.ts'
import { FILTERS } from '../../../api/console/traces/list-traces.ts'
import type { Query } from '../../../api/console/page.ts'
import { buildDatasetHandler } from '../../../workers/datasets/build-dataset.ts'
import { prepareReplayHandler } from '../../../workers/replay/prepare-replay.ts'
import { checkPage, visit } from '../../support/console.ts'
import type { Visited } from '../../support/console.ts'
import { makeReplayAgent } from '../../support/replay-agent.ts'
import { makeTestKey, openService } from '../../support/service.ts'

const service = await openService(t)
await service.startWorkers([prepareReplayHandler, buildDatasetHandler])

t.test('pages of traces', async (t) => {
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  const read = await makeTestKey(service.sql, org.orgId, { scope: 'global', permissions: 'read' })

  await t.test('without a key lead to sign-in, and back', async (t) => {
    const { status, headers } = await visit(service, undefined, '/console/traces?q=a%26b')
    t.equal(status, 303)
    t.equal(headers['location'], '/console/sign-in?next=%2Fconsole%2Ftraces%3Fq%3Da%2526b')
  })

  await t.test('say what to do where nothing is', async (t) => {
    const page = await visit(service, org.key, '/console/traces')
    t.equal(page.status, 200)
    t.match(page.text, /No traces yet .* curl .*\/api\/v1\/traces/)
    await checkPage(t, page)
  })

  const hostile = '<script>alert(1)</script> "\' &amp; \u202Egnp.exe'
  await client.post('/traces', {
    trace_id: 'evil/"<b>',
    agent_name: hostile,
    user_input_preview: hostile,
    error_message: hostile,
    status: 'error',
    tags: [hostile],
    spans: [
      { id: '"><img src=x>', name: hostile, span_type: 'tool', attributes: { [hostile]: hostile } },
    ],
    llm_calls: [
      { rendered_input: [{ role: hostile, content: hostile }], output: { content: hostile } },
    ],
    scores: [{ name: hostile, score: 0.5, reason: hostile, source: 'llm_judge' }],
  })

  await t.test('show what clients sent as text', async (t) => {
    for (const path of ['/console/traces', '/console/traces/evil%2F%22%3Cb%3E']) {
      const page = await visit(service, org.key, path)
      t.equal(page.status, 200)
      t.ok(page.text.includes('<script>alert(1)</script>'))
      t.equal(page.document.querySelectorAll('script').length, 1, 'but the own one')
      t.equal(page.document.querySelector('img[src=x], main b b'), null)
      await checkPage(t, page)
    }
  })

  await t.test('have no buttons for who may only read', async (t) => {
    const path = '/console/traces/evil%2F%22%3Cb%3E'
    t.same((await visit(service, read.raw, path)).actions, [])
    const { actions } = await visit(service, org.key, path)
    for (const action of ['Judge again', 'Replay', 'Annotate']) t.ok(actions.includes(action))
    const list = await visit(service, read.raw, '/console/traces')
    t.same(list.actions, [])
    t.equal(list.document.querySelector('input[type=checkbox], dialog form[data-send]'), null)
    await checkPage(t, list)
  })

  await t.test('say that an agent without a version cannot be replayed', async (t) => {
    const page = await visit(service, org.key, '/console/traces/evil%2F%22%3Cb%3E')
    t.match(textOf(page, '#replay'), /This agent has none yet/)
    t.equal(page.document.querySelector('#replay form'), null)
  })

  await t.test('tell an error with its request', async (t) => {
    const page = await visit(service, org.key, '/console/traces/none')
    t.equal(page.status, 404)
    t.match(page.text, /Trace not found Request [\w-]+ · not_found/)
    await checkPage(t, page)
    const wrong = await visit(service, org.key, '/console/traces?verdict=odd')
    t.equal(wrong.status, 422)
    t.match(wrong.text, /verdict/)
  })

  await t.test('cut what is long, and show it whole on demand', async (t) => {
    const long = 'word'.repeat(250_000)
    await client.post('/traces', {
      trace_id: 'long',
      agent_name: 'a',
      spans: [{ id: 's', name: 'step', span_type: 'llm' }],
      llm_calls: [{ span_id: 's', rendered_input: [{ role: 'user', content: long }], output: {} }],
    })
    const page = await visit(service, org.key, '/console/traces/long')
    t.ok(page.markup.length < 80_000, `${page.markup.length}`)
    const whole = page.links.find((link) => link.includes('whole=s'))
    t.equal(whole, '/console/traces/long?whole=s#span-s')
    const { markup } = await visit(service, org.key, '/console/traces/long?whole=s')
    t.ok(markup.includes('word'.repeat(1000)))
  })
})

t.test('pages of traces of an agent with versions', async (t) => {
  const { client, key, store, source, target } = await makeReplayAgent(service)
  const good = await store({}, { manifest_id: source, scores: { reward: 1 } })
  const bad = await store({}, { manifest_id: source, scores: { reward: 0.2 } })
  const other = await store({}, { agent_name: 'other' })
  for (const id of [good, bad]) await client.post(`/traces/${id}/decision`)
  const see = (path: string) => visit(service, key, `/console/traces${path}`)

  await t.test('name the version, and mark the score at which the verdict changes', async (t) => {
    const page = await see(`/${good}`)
    const link = `main dd a[href="/console/manifests/${source}"]`
    t.match(textOf(page, link), /^v1 \w{10}$/)
    const { body } = await client.get(`/traces/${good}/decision`)
    const { subject, value, needs_review } = body.counterfactual_change
    t.match({ subject, needs_review }, { subject: 'reward', needs_review: true })
    t.match(page.text, `It would be keep with review if reward were below ${value}`)
    const marks = [...page.document.querySelectorAll('.mark')]
    t.same(
      marks.map((mark) => mark.getAttribute('x')),
      [`${value * 100}%`],
    )
    await checkPage(t, page)
  })

  await t.test('replay a trace as the active version, and list what came of it', async (t) => {
    const page = await see(`/${bad}`)
    const { path, body } = requestOf(page, '#replay form')
    const answer = await client.post(path, { ...body, target_manifest_id: presetIn(page) })
    t.match(answer, { status: 201, body: { target_manifest_id: target, total: 1 } })
    const [task] = answer.body.tasks
    t.equal(task.trace_id, bad)
    t.equal((await visit(service, key, `/console/replay/${answer.body.id}`)).status, 200)

    await client.post(`/replay/tasks/${task.id}/submit`, {
      status: 'completed',
      trace: {
        agent_name: 'agent',
        trace_id: 'again',
        final_output_preview: 'Better <b>',
        scores: { reward: 0.5 },
      },
    })
    const after = await see(`/${bad}`)
    t.match(after.text, /Replays 1 trace .* Better <b> v2/)
    t.ok(after.links.includes('/console/traces/again'))
    await checkPage(t, after)
    t.ok((await see('/again')).links.includes(`/console/traces/${bad}`), 'and leads back')
  })

  await t.test('select traces for a replay of the versions of their agent', async (t) => {
    const page = await see('')
    const boxes = [...page.document.querySelectorAll('td input[form=replay-form]')]
    const boxOf = (id: string) => boxes.find((box) => box.getAttribute('value') === id)
    t.equal(boxes.length, 4)
    t.equal(boxOf(good)?.getAttribute('aria-label'), `Select ${good}`)
    const agent = boxOf(good)?.getAttribute('data-agent')
    t.equal(boxOf(bad)?.getAttribute('data-agent'), agent)
    t.not(boxOf(other)?.getAttribute('data-agent'), agent)
    const choices = [...page.document.querySelectorAll('#replay fieldset')]
    t.same(
      choices.map((choice) => choice.getAttribute('data-agent')),
      [agent],
    )
    t.ok(page.document.querySelector('[data-selection][hidden]'))
    const { path, body } = requestOf(page, '#replay form')
    const trace_ids = [good, bad]
    const sent = { ...body, target_manifest_id: presetIn(page), trace_ids }
    t.match(await client.post(path, sent), { status: 201, body: { total: 2 } })
    await checkPage(t, page)
  })

  await t.test('filter by the bars of the quality', async (t) => {
    const page = await see('?agent_name=agent')
    const bars = [...page.document.querySelectorAll('.quality a')]
    const { body } = await client.get('/traces/eval/histogram?agent_name=agent')
    const counted = body.bins.filter(({ count }: { count: number }) => count > 0)
    t.equal(bars.length, counted.length)
    for (const bar of bars) {
      const [, n] = /: (\d+) traces?$/.exec(bar.getAttribute('aria-label') ?? '') ?? []
      const href = bar.getAttribute('href') ?? ''
      const list = await visit(service, key, href)
      t.equal(list.document.querySelectorAll('tbody tr').length, Number(n), href)
      const chosen = list.document.querySelector('.quality a[aria-current]')
      t.equal(chosen?.getAttribute('href'), '/console/traces?agent_name=agent', 'is taken away')
      await checkPage(t, list)
    }
  })

  await t.test(
    'build what the filter lets through, and link the rows that it became',
    async (t) => {
      t.match(textOf(await see(''), '#build'), /There is no dataset yet/)
      const name = '<b>set</b>'
      const dataset = (await client.post('/datasets', { name, dataset_type: 'sft' })).body
      const page = await see('?agent_name=agent&verdict=keep&min_score=0.9')
      t.match(textOf(page, '#build'), /lets 1 trace through/)
      const { path, body } = requestOf(page, '#build form')
      const filters = { agent_name: 'agent', verdicts: ['keep'], min_eval_score: 0.9 }
      t.match(body, { filters })
      const built = await client.post(path.replace('{dataset_id}', dataset.id), body, {
        prefer: 'wait=50',
      })
      t.match(built, { status: 201, body: { version_number: 1, row_count: 1 } })

      const trace = await see(`/${good}`)
      t.match(trace.text, /In datasets 1 row .* <b>set<\/b> v1 (train|validation) row 0/)
      const version = `/console/datasets/${dataset.id}/versions/1`
      t.ok(trace.links.includes(version))
      const row = trace.links.find((link) => link.endsWith('#row-0')) ?? ''
      const opened = (await visit(service, key, row)).document.querySelector('[aria-expanded=true]')
      t.match(opened?.getAttribute('href'), `${version}?`)
      await checkPage(t, trace)
      t.notMatch((await see(`/${bad}`)).text, 'In datasets')
    },
  )

  await t.test('send every filter to a build, or say that it cannot choose by it', async (t) => {
    const [dataset] = (await client.get('/datasets')).body.datasets
    const formOf = (filter: object) => {
      const { text } = buildDialog([dataset], filter as Query, '1 trace')
      return new JSDOM(text).window.document.querySelector('form')
    }
    const plain = formOf({})?.getAttribute('data-body')
    // Datasets are listed by project, and a build takes the traces of theirs.
    for (const name of FILTERS.filter((name) => name !== 'project')) {
      t.not(formOf({ [name]: '1' })?.getAttribute('data-body'), plain, name)
    }
    t.match(formOf({})?.textContent, /those of the project that the dataset belongs to/)
    t.notMatch(formOf({ project: 'default' })?.textContent, /of the project/)
    const page = await see(`?agent_name=agent&manifest_id=${source}`)
    t.match(requestOf(page, '#build form').body, { filters: { manifest_ids: [source] } })
    t.match(textOf(page, '#build .tag:nth-of-type(2)'), `manifest id ${source}`)
  })

  await t.test('say what builds cannot choose by', async (t) => {
    const page = await see('?q=request&agent_name=agent')
    t.match(textOf(page, '#build'), /filtered by words/)
    t.equal(page.document.querySelector('#build form'), null)
    t.ok(page.document.querySelector('#build a[href="/console/traces?agent_name=agent"]'))
  })
})

t.test('a trace of an agent whose versions are too many to be listed', async (t) => {
  const { key, orgId, register, store } = await makeReplayAgent(service)
  await store()
  const busy = await register([], 'busy')
  const { href } = new URL('../../../api/console/browser/selection.ts', import.meta.url)
  const { bindSelection } = (await import(href)) as { bindSelection: (root: unknown) => void }
  const why = async () => {
    const { document } = await visit(service, key, '/console/traces')
    bindSelection(document)
    document.querySelector('td input')?.click()
    return document.querySelector('[data-selection] output')?.textContent
  }
  t.equal(await why(), '1 selected')
  await service.sql`
    insert into manifests (org_id, project_id, id, agent_name, version_number, manifest_hash, shown_hash,
      contract_hash, status, is_held, is_closed_world, components_count, metadata)
    select org_id, project_id, gen_random_uuid(), agent_name, n, 'sha256:' || lpad(n::text, 64, '0'), n, n,
      'superseded', false, false, 0, '{}'
    from manifests, generate_series(2, 101) n where org_id = ${orgId} and id = ${busy}`
  t.equal(await why(), '1 selected, choose the agent in the filter to replay')
})

function textOf({ document }: Visited, selector: string) {
  return (document.querySelector(selector)?.textContent ?? '').replace(/\s+/g, ' ').trim()
}

/** What a form sends besides its fields. */
function requestOf({ document }: Visited, selector: string) {
  const form = document.querySelector(selector)
  const [, path = ''] = form?.getAttribute('data-send')?.split(' /api/v1') ?? []
  return { path, body: JSON.parse(form?.getAttribute('data-body') ?? '{}') as object }
}

/** The version that is offered first. */
function presetIn({ document }: Visited) {
  return document.querySelector('#replay option[selected]')?.getAttribute('value')
}
