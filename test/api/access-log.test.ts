import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import t from 'tap'
import { Answer, endpoint } from '../../api/endpoint.ts'
import { operations } from '../../api/routes.ts'
import { displayPrefix, makeKey } from '../../jobs/rules/access/api-key.ts'
import { gate } from '../support/queues.ts'
import { openService } from '../support/service.ts'
import { until } from '../support/until.ts'

t.test('the access log', async (t) => {
  const reached = gate()
  const released = gate()
  const slow = endpoint('GET', '/slow', {
    summary: 'Answers when it is told to',
    access: 'key',
    answers: {},
    handle: async () => {
      reached.open()
      await released.opened
      return {}
    },
  })
  const endless = endpoint('GET', '/endless', {
    summary: 'Answers for ever',
    access: 'key',
    answers: {},
    handle: async () => {
      const bytes = Readable.from(
        (function* () {
          for (;;) yield Buffer.alloc(1000)
        })(),
        { objectMode: false },
      )
      return new Answer(200, bytes, { 'Content-Type': 'application/octet-stream' })
    },
  })
  const service = await openService(t, { operations: [...operations, slow, endless] })
  const { server, logged } = service
  const org = await service.makeOrganization()
  const lines = (): Line[] =>
    logged.map((line) => JSON.parse(line) as Line).filter(({ msg }) => msg === 'request')
  const lineOf = (id: string) => until(() => lines().find(({ request_id }) => request_id === id))
  const key_prefix = displayPrefix('svc_', org.key)

  t.test('has a line for each request, with nothing of the client in it but an id', async (t) => {
    const ask = service.client(org.key)
    await ask.get('/jobs/SECRET?kind=SECRET', { 'x-request-id': 'one', 'user-agent': 'SECRET' })
    t.match(await lineOf('one'), {
      level: 30,
      org_id: org.orgId,
      key_prefix,
      operation: '/api/v1/jobs/{job_id}',
      method: 'GET',
      status: 404,
      ms: Number,
      bytes_in: Number,
      bytes_out: Number,
    })
    await ask.post('/traces', { agent_name: 'SECRET' }, { 'x-request-id': 'two' })
    t.match(await lineOf('two'), { operation: '/api/v1/traces', method: 'POST', status: 201 })
    t.notMatch(logged.join(''), 'SECRET')
    t.notMatch(logged.join(''), org.key)
    t.equal(lines().length, 2)
  })

  t.test('tells whose request was refused, as far as that is known', async (t) => {
    const unknown = makeKey('svc_', randomBytes(64))
    await service.client(unknown).get('/jobs', { 'x-request-id': 'three' })
    const line = await lineOf('three')
    t.match(line, { status: 401, key_prefix: displayPrefix('svc_', unknown) })
    t.notOk('org_id' in line)
    const free = await service.makeOrganization('free')
    const ask = service.client(free.key)
    const ids = Array.from({ length: 30 }, (_, i) => `many-${i}`)
    const answers = await Promise.all(ids.map((id) => ask.get('/jobs', { 'x-request-id': id })))
    const refused = ids[answers.findIndex(({ status }) => status === 429)] ?? ''
    t.match(await lineOf(refused), { status: 429, org_id: free.orgId })
  })

  t.test(
    'has probes and the documentation at level debug, and what is not there at info',
    async (t) => {
      for (const [url, level] of [
        ['/livez', 20],
        ['/docs', 20],
        ['/openapi.json', 20],
        ['/nowhere', 30],
      ] as const) {
        await server.inject({ url, headers: { 'x-request-id': `at${url.slice(1, 5)}` } })
        t.equal((await lineOf(`at${url.slice(1, 5)}`)).level, level, url)
      }
    },
  )

  await server.start()
  const open = async () => {
    const socket = connect(Number(server.info.port), '127.0.0.1')
    await once(socket, 'connect')
    t.teardown(() => socket.destroy())
    return socket
  }
  const send = (socket: Socket, path: string, id: string) => {
    const request = `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Request-ID: ${id}\r\nAuthorization: Bearer ${org.key}\r\n\r\n`
    socket.write(request)
    return request.length
  }

  t.test('counts the bytes of each request of a connection', async (t) => {
    const socket = await open()
    let received = 0
    socket.on('data', (bytes) => (received += bytes.length))
    let told = 0
    for (const id of ['first', 'second']) {
      const length = send(socket, '/api/v1/projects', id)
      const line = await lineOf(id)
      t.equal(line.bytes_in, length)
      t.equal(line.status, 200)
      told += line.bytes_out
      await until(() => received === told)
    }
  })

  t.test('has a line for a request whose client went away', async (t) => {
    const socket = await open()
    send(socket, '/api/v1/slow', 'gone')
    await reached.opened
    socket.destroy()
    t.match(await lineOf('gone'), { status: 499, operation: '/api/v1/slow' })
    released.open()
    const reader = await open()
    send(reader, '/api/v1/endless', 'broken-off')
    await once(reader, 'data')
    reader.destroy()
    t.match(await lineOf('broken-off'), { status: 499 })
  })
})

interface Line {
  readonly msg: string
  readonly request_id: string
  readonly level: number
  readonly status: number
  readonly bytes_in: number
  readonly bytes_out: number
}
