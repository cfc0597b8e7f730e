import t from 'tap'
import type { Test } from 'tap'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { openWorkerContext } from '../../../ops/worker-context.ts'
import { startWorkers } from '../../../workers/runtime/start-workers.ts'
import { sendAlertMailHandler } from '../../../workers/webhooks/send-alert-mail.ts'
import { openService } from '../../support/service.ts'
import type { Service } from '../../support/service.ts'
import { until } from '../../support/until.ts'

t.test('the security alert for a new key', async (t) => {
  const service = await openService(t)

  async function createKey() {
    const org = await service.makeOrganization()
    await service.sql`
      update organizations set billing_contact = 'billing@example.com' where id = ${org.orgId}`
    const { body } = await service
      .client(org.key)
      .post('/api-keys', { label: 'ci\nSubject: x', scope: 'global', permissions: 'read' })
    return { org, raw: body.raw_key as string, prefix: body.key_prefix as string }
  }

  t.test('is mailed to the billing contact, without the key', async (t) => {
    const smtp = await startSmtpServer('250 ok')
    t.teardown(smtp.close)
    const { org, raw, prefix } = await createKey()
    await startMailing(t, service, smtp.url)
    await until(async () => (await findMail(service, org.orgId))?.sent_at)
    const [mail = ''] = smtp.mails
    t.match(mail, /^To: billing@example\.com$/m)
    t.match(mail, /^Subject: A new API key was created$/m)
    t.match(mail.replaceAll('=\r\n', ''), 'ci\\nSubject: x')
    t.notMatch(mail, raw)
    t.match(await findMail(service, org.orgId), { body: prefix })
  })

  t.test('is tried again when the server is busy', async (t) => {
    const smtp = await startSmtpServer('451 busy', '250 ok')
    t.teardown(smtp.close)
    const { org } = await createKey()
    await startMailing(t, service, smtp.url)
    await until(async () => {
      const retried = await service.sql`
        update pgboss.job set start_after = now() where name = 'mail.send' and state = 'retry'`
      return retried.count === 1
    })
    await until(async () => (await findMail(service, org.orgId))?.sent_at)
    t.equal(smtp.mails.length, 2)
  })

  t.test('is given up when the server refuses it', async (t) => {
    const smtp = await startSmtpServer('554 no such user')
    t.teardown(smtp.close)
    const { org } = await createKey()
    await startMailing(t, service, smtp.url)
    await until(async () => smtp.mails.length === 1 && (await countWaiting(service)) === 0)
    t.equal((await findMail(service, org.orgId))?.sent_at, null)
  })

  t.test('is only recorded where no mail server is configured', async (t) => {
    const { org, raw } = await createKey()
    await service.startWorkers([sendAlertMailHandler])
    await until(async () => (await countWaiting(service)) === 0)
    const mail = await findMail(service, org.orgId)
    t.match(mail, { recipient: 'billing@example.com', sent_at: null })
    t.notMatch(JSON.stringify(mail), raw)
  })

  t.test('goes to nobody when there is no billing contact', async (t) => {
    const org = await service.makeOrganization()
    const made = await service.client(org.key).post('/api-keys', { label: 'x', scope: 'global' })
    t.equal(made.status, 201)
    t.equal(await findMail(service, org.orgId), undefined)
  })
})

async function findMail({ sql }: Service, orgId: string) {
  const [row] = await sql<{ recipient: string; body: string; sent_at: Date | null }[]>`
    select recipient, body, sent_at from mails where org_id = ${orgId}`
  return row
}

async function countWaiting({ sql }: Service) {
  const [row] = await sql<{ n: number }[]>`
    select count(*)::int as n from pgboss.job where name = 'mail.send' and state < 'completed'`
  return row?.n
}

async function startMailing(t: Test, service: Service, smtpUrl: string) {
  const config = { ...service.config, SMTP_URL: smtpUrl }
  const worker = await openWorkerContext(config, service.url, {
    slots: 1,
    supervise: true,
  })
  const pools = await startWorkers(worker.context, worker.boss, [
    { handler: sendAlertMailHandler, concurrency: 1 },
  ])
  t.teardown(async () => {
    await pools.stop(10_000)
    await worker.close()
  })
}

/**
 * A mail server of the few commands a client needs; `verdicts` are what it says to the mails it gets,
 * the last one to all that follow.
 */
async function startSmtpServer(...verdicts: string[]) {
  const mails: string[] = []
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    let mail: string | undefined
    socket.write('220 test\r\n')
    socket.on('data', (chunk) => {
      const text = chunk.toString()
      if (mail === undefined && !/^data/im.test(text)) {
        if (/^quit/i.test(text)) socket.end('221 bye\r\n')
        else socket.write('250 ok\r\n')
        return
      }
      if (mail === undefined) {
        mail = ''
        socket.write('354 go on\r\n')
        return
      }
      mail += text
      if (!mail.endsWith('\r\n.\r\n')) return
      mails.push(mail)
      mail = undefined
      socket.write(`${verdicts[mails.length - 1] ?? verdicts.at(-1)}\r\n`)
    })
    socket.on('error', () => undefined)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.address() as AddressInfo).port}?ignoreTLS=true`,
    mails,
    close() {
      sockets.forEach((socket) => socket.destroy())
      server.close()
    },
  }
}
