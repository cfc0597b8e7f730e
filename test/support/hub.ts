import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Test } from 'tap'
import { openRepos } from './hub-repos.ts'
import type { Refusal } from './hub-repos.ts'

export interface HubCall {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly isStorage: boolean
}

/** What a call is answered instead; `reset` drops its connection. */
export type Interference = Refusal | 'reset' | undefined

interface HubOptions {
  readonly token: string
  /** Files above this are uploaded in parts of it; default none is. */
  readonly partBytes?: number
  /** The storage has an address of another host than the hub. */
  readonly storageApart?: boolean
}

/**
 * A hub on loopback that speaks the protocol for datasets: repositories, LFS uploads whole or in parts,
 * commits. It checks the SHA-256 of all it is sent and forgets the bytes of large files.
 */
export async function startHub(
  t: Test,
  { token, partBytes = Infinity, storageApart = false }: HubOptions,
) {
  const folder = t.testdir()
  const stored = new Map<string, number>()
  /** Bytes that came for a file, those of broken uploads included, by SHA-256. */
  const received = new Map<string, number>()
  /** Parts of an upload by its number, each a local file. */
  const uploads = new Map<string, Map<number, string>>()
  const calls: HubCall[] = []
  const faults: string[] = []
  const repos = openRepos((oid) => stored.has(oid))
  const hub = {
    /** Said of every file that is to be uploaded. */
    refusesFile: undefined as { code: number; message: string } | undefined,
    /** The answer to where a file of this size is to be uploaded. */
    uploadTo: undefined as ((size: number) => object) | undefined,
    /** Looked at before each call is answered. */
    interfere: (_call: HubCall): Interference | Promise<Interference> => undefined,
    /** Looked at while a file comes: true drops the connection. */
    breaks: (_oid: string, _bytes: number): boolean => false,
  }

  function batch({ objects, transfers }: Batch) {
    const isMultipart = transfers.includes('multipart')
    const actionOf = (oid: string, size: number) => {
      if (!isMultipart || size <= partBytes) return { href: addressOf(`storage/${oid}`) }
      const upload = randomBytes(8).toString('hex')
      uploads.set(upload, new Map())
      const parts = Array.from({ length: Math.ceil(size / partBytes) }, (_, i) => [
        String(i + 1).padStart(5, '0'),
        addressOf(`storage/${oid}/${upload}/${i + 1}`),
      ])
      const header = { chunk_size: String(partBytes), ...Object.fromEntries(parts) }
      return { href: addressOf(`storage/${oid}/${upload}`), header }
    }
    return {
      transfer: isMultipart ? 'multipart' : 'basic',
      objects: objects.map(({ oid, size }) => {
        if (hub.refusesFile) return { oid, size, error: hub.refusesFile }
        if (stored.has(oid)) return { oid, size }
        return { oid, size, actions: { upload: hub.uploadTo?.(size) ?? actionOf(oid, size) } }
      }),
    }
  }
  const addressOf = (path: string) => `${storageUrl}/${path}?signature=${SIGNATURE}`

  /** Takes the bytes of a file or of a part of it. @returns their SHA-256 */
  async function take(request: IncomingMessage, oid: string, into?: string) {
    const hash = createHash('sha256')
    async function* counted() {
      for await (const chunk of request as AsyncIterable<Buffer>) {
        received.set(oid, (received.get(oid) ?? 0) + chunk.length)
        if (hub.breaks(oid, received.get(oid) ?? 0)) request.destroy()
        hash.update(chunk)
        yield chunk
      }
    }
    if (into) await pipeline(counted, createWriteStream(into))
    else for await (const _ of counted());
    return hash.digest('hex')
  }

  function keep(oid: string, size: number): Reply {
    if (stored.has(oid)) faults.push(`${oid} was uploaded twice`)
    stored.set(oid, size)
    return { status: 200 }
  }

  async function storage(request: IncomingMessage, path: string): Promise<Reply> {
    const [, , oid = '', upload, part] = path.split('/')
    if (request.headers.authorization) faults.push('the storage was sent a token')
    if (upload === undefined) {
      const size = Number(request.headers['content-length'])
      if ((await take(request, oid)) !== oid) return { status: 400, error: 'another SHA-256' }
      return keep(oid, size)
    }
    const parts = uploads.get(upload)
    if (!parts) return { status: 404, error: 'no such upload' }
    if (part !== undefined) {
      const file = join(folder, `${upload}-${part}`)
      const sha256 = await take(request, oid, file)
      parts.set(Number(part), file)
      return { status: 200, headers: { etag: `"${sha256}"` } }
    }
    const { parts: told } = (await readJson(request)) as { parts: { partNumber: number }[] }
    const files = told.map(({ partNumber }) => parts.get(partNumber) ?? '')
    const hash = createHash('sha256')
    let size = 0
    for (const file of files) {
      for await (const chunk of createReadStream(file)) {
        hash.update(chunk as Buffer)
        size += (chunk as Buffer).length
      }
      await rm(file)
    }
    if (hash.digest('hex') !== oid) return { status: 400, error: 'another SHA-256' }
    return keep(oid, size)
  }

  async function answer(request: IncomingMessage, { path }: HubCall): Promise<Reply> {
    if (path.startsWith('/storage/')) return storage(request, path)
    if (request.headers.authorization !== `Bearer ${token}`) {
      return { status: 401, error: `Invalid token ${request.headers.authorization}` }
    }
    if (path.endsWith('/info/lfs/objects/batch')) {
      return { status: 200, json: batch((await readJson(request)) as Batch) }
    }
    const query = new URL(request.url ?? '', url).searchParams
    return repos.answer(request.method ?? '', path, query, await readText(request))
  }

  async function serve(request: IncomingMessage, response: ServerResponse) {
    const { pathname: path } = new URL(request.url ?? '', url)
    const call = { method: request.method ?? '', path, isStorage: path.startsWith('/storage/') }
    calls.push(call)
    const interference = await hub.interfere(call)
    if (interference === 'reset') return void request.socket.destroy()
    const { status, error, json, headers }: Reply = interference ?? (await answer(request, call))
    const type = { 'content-type': 'application/json' }
    response.writeHead(status, {
      ...type,
      ...headers,
      ...(interference && { connection: 'close' }),
    })
    response.end(error === undefined ? JSON.stringify(json ?? {}) : JSON.stringify({ error }))
  }

  const server = createServer((request, response) => {
    // Connections that were dropped, by either side.
    serve(request, response).catch(() => request.socket.destroy())
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const storageUrl = `http://127.0.0.1:${port}`
  const url = storageApart ? `http://localhost:${port}` : storageUrl
  t.teardown(() => {
    server.closeAllConnections()
    return new Promise((resolve) => server.close(resolve))
  })
  return Object.assign(hub, { url, repos, stored, received, calls, faults })
}

async function readText(request: IncomingMessage) {
  return Buffer.concat(await Readable.prototype.toArray.call(request)).toString()
}

async function readJson(request: IncomingMessage) {
  return JSON.parse(await readText(request)) as unknown
}

/** Part of every upload address: it must be nowhere else. */
export const SIGNATURE = 'signature-of-an-upload'

type Reply = Refusal
interface Batch {
  readonly objects: readonly { readonly oid: string; readonly size: number }[]
  readonly transfers: readonly string[]
}
