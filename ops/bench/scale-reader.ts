import postgres from 'postgres'
import { createApi } from '../../api/server.ts'
import { readConfig } from '../config.ts'
import { openApiContext } from '../api-context.ts'
import { median, quantile } from './figures.ts'

/** What a request cost. */
export interface RequestCost {
  /** Blocks of 8 KiB that PostgreSQL read, from its memory or not; the median of the repeats. */
  readonly buffers: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Of the last answer. */
  readonly status: number
}

/** How requests are measured. */
interface Reading {
  readonly url: string
  /** Of the API's files. */
  readonly folder: string
  /** A request is timed for at most so long, and once at least. */
  readonly seconds: number
  /** How often its buffers are counted. */
  readonly repeats: number
}

/** Sends a request and returns the status of its answer. */
type Send = (key: string, path: string) => Promise<number>

/**
 * Measures requests to an API in this process. Nothing else may use the database meanwhile.
 * @param opened closes it when it is disposed of
 */
export async function openReader(
  opened: AsyncDisposableStack,
  { url, folder, seconds, repeats }: Reading,
) {
  const usual = await openSender(opened, { url, folder })
  const counted = await openCounter(opened, { url, folder })
  return async (key: string, path: string): Promise<RequestCost> => {
    const status = await counted.send(key, path)
    const buffers: number[] = []
    for (let i = 0; i < repeats; i++) {
      const before = await counted.read()
      await counted.send(key, path)
      buffers.push((await counted.read()) - before)
    }
    const times = await measureTimes(() => usual.send(key, path), seconds)
    const [p50Ms, p99Ms] = [quantile(times, 0.5), quantile(times, 0.99)]
    return { buffers: median(buffers), p50Ms, p99Ms, status }
  }
}

/** Milliseconds of calls one after another, a hundred at most. */
async function measureTimes(call: () => Promise<number>, seconds: number) {
  await call()
  const times: number[] = []
  const end = performance.now() + seconds * 1000
  do {
    const began = performance.now()
    await call()
    times.push(performance.now() - began)
  } while (performance.now() < end && times.length < MOST_CALLS)
  return times
}

/**
 * An API whose pools have one connection each, so that these can be told to hand over what they have counted.
 * PostgreSQL has figures of a whole database only; the connection that reads them is to another one.
 */
async function openCounter(
  opened: AsyncDisposableStack,
  { url, folder }: { url: string; folder: string },
) {
  const single = {
    DATABASE_AUTH_CONNECTIONS: '1',
    DATABASE_READ_CONNECTIONS: '1',
    DATABASE_AGGREGATE_CONNECTIONS: '1',
    DATABASE_COMPARE_CONNECTIONS: '1',
    DATABASE_WRITE_CONNECTIONS: '1',
  }
  const { send, pools } = await openSender(opened, { url, folder, settings: single })
  const { pathname } = new URL(url)
  const observer = postgres(Object.assign(new URL(url), { pathname: '/postgres' }).href, { max: 1 })
  opened.defer(() => observer.end())
  return {
    send,
    /** Blocks read in the database so far. */
    async read() {
      await Promise.all(Object.values(pools).map((pool) => pool`select pg_stat_force_next_flush()`))
      const [row] = await observer<{ n: string }[]>`
        select blks_hit + blks_read as n from pg_stat_database where datname = ${pathname.slice(1)}`
      return Number(row?.n)
    },
  }
}

async function openSender(
  opened: AsyncDisposableStack,
  { url, folder, settings }: { url: string; folder: string; settings?: Record<string, string> },
) {
  const config = readConfig({
    DATABASE_URL: url,
    DATA_DIR: folder,
    LOG_LEVEL: 'fatal',
    ...settings,
  })
  const service = await openApiContext(config, url)
  opened.defer(() => service.close())
  const api = await createApi(service.context)
  opened.defer(() => api.stop())
  const send: Send = async (key, path) => {
    const headers = { authorization: `Bearer ${key}` }
    const { statusCode } = await api.inject({ method: 'GET', url: `/api/v1${path}`, headers })
    return statusCode
  }
  return { send, pools: service.context.pools }
}

const MOST_CALLS = 100
