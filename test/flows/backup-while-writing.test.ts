import { once } from 'node:events'
import { get } from 'node:http'
import t from 'tap'
import { openInstallation } from '../support/backup/backups.ts'
import type { Owner } from '../support/backup/backups.ts'
import { conversation } from '../support/backup/sent-traces.ts'
import { toolComponent } from '../support/agents.ts'
import { LONG } from '../faults/stage.ts'

const TRACES = LONG ? 4000 : 1200
/** So that pages of content are more than one, and the client's buffers do not hold them all. */
const LONG_TEXT = 'x'.repeat(20_000)

const { service, restore } = await openInstallation(t)
await service.server.start()

t.test('what is made and deleted meanwhile leaves an export whole', async (t) => {
  const org = await service.makeOrganization()
  const client = service.client(org.key)
  for (let from = 0; from < TRACES; from += 400) {
    const traces = Array.from({ length: 400 }, (_, i) => traceOf(`before-${from + i}`))
    t.equal((await client.post('/traces/batch', { traces })).status, 200)
  }
  const writing = startWriting(org)
  await writing.begun
  const file = await readSlowly(org)
  const { deleted, rounds } = await writing.stop()

  const lines = file.split('\n').slice(0, -1)
  const records = lines.map((line) => JSON.parse(line) as Line)
  t.match(records.at(0), { kind: 'backup', format: 1 })
  t.match(records.at(-1), { kind: 'end' }, `${rounds} rounds of writing`)
  const traces = records.filter(({ kind }) => kind === 'trace')
  const ids = new Set(traces.map(({ trace_id }) => trace_id))
  t.equal(ids.size, traces.length, 'no trace is there twice')
  for (let i = 0; i < TRACES; i++) {
    const id = `before-${i}`
    if (!ids.has(id) && !deleted.has(id)) t.fail(`${id} is missing`)
  }
  t.ok(traces.length < TRACES + rounds, 'what was made after the start is not in it')
  t.same(strayLines(records), [], 'each line about a trace is behind it')
  const manifests = new Set(records.flatMap((line) => (line.kind === 'manifest' ? line.id : [])))
  const named = traces.flatMap(({ manifest_id }) => manifest_id ?? [])
  t.same(
    named.filter((id) => !manifests.has(id)),
    [],
    'each manifest that a trace names is there',
  )
  t.same(unjudged(records), [], 'no verdict counts a score that is not beside it')

  const other = await service.makeOrganization()
  const restored = await restore(other, file)
  t.match(restored, { status: 'succeeded' })
  const { errors } = (await service.client(other.key).get(`/import/${restored.id}/errors`)).body
  t.same(errors, [])
})

/** Stores, scores and deletes traces and registers versions until it is stopped. */
function startWriting({ key }: Owner) {
  const client = service.client(key)
  const deleted = new Set<string>()
  let isStopped = false
  let rounds = 0
  const begun = Promise.withResolvers<void>()
  const done = (async () => {
    for (; !isStopped; rounds++) {
      const components = [toolComponent(`tool-${rounds}`)]
      const manifest = { agent_name: 'shop', components, activate: true }
      const { manifest_id } = (await client.post('/manifests', manifest)).body
      const made = { ...conversation(`made-${rounds}`, `made ${rounds}`), manifest_id }
      await client.post('/traces', made)
      const [scored, gone] = [(rounds * 37) % TRACES, (rounds * 53 + 11) % TRACES]
      const scores = [{ name: 'late', score: (rounds % 10) / 10 }]
      await client.post(`/traces/before-${scored}/eval-scores`, { source: 'human', scores })
      deleted.add(`before-${gone}`)
      await client.delete(`/traces/before-${gone}`)
      if (rounds === 3) begun.resolve()
    }
  })()
  return {
    begun: begun.promise,
    async stop() {
      isStopped = true
      await done
      return { deleted, rounds }
    },
  }
}

/** The export as a client gets it that reads a part now and then. */
async function readSlowly({ key }: Owner) {
  const headers = { authorization: `Bearer ${key}` }
  const request = get(`${service.server.info.uri}/api/v1/export/backup`, { headers })
  const [response] = (await once(request, 'response')) as [import('node:http').IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of response) {
    parts.push(part as Buffer)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  return Buffer.concat(parts).toString()
}

function strayLines(records: readonly Line[]) {
  let open: string | undefined
  return records.filter(({ kind, trace_id }) => {
    if (kind === 'trace') open = trace_id
    return ABOUT_TRACES.includes(kind) && trace_id !== open
  })
}

/** Verdicts that are of a later state than the scores beside them, or of one before. */
function unjudged(records: readonly Line[]) {
  const scored = new Set(
    records.flatMap(({ kind, trace_id }) => (kind === 'score' ? trace_id : [])),
  )
  return records.filter(
    ({ kind, trace_id, quality_avg }) =>
      kind === 'verdict' && typeof quality_avg === 'number' && !scored.has(trace_id),
  )
}

function traceOf(trace_id: string) {
  return conversation(trace_id, `${trace_id} ${LONG_TEXT}`)
}

interface Line {
  readonly kind: string
  readonly id?: string
  readonly trace_id?: string
  readonly manifest_id?: string | null
  readonly quality_avg?: number | null
}

const ABOUT_TRACES = ['score', 'annotation', 'examination', 'verdict', 'revision']
