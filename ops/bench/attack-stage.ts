import { once } from 'node:events'
import { Agent, request } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { createKey } from '../organizations.ts'
import type { NeighbourFigures } from './attack-neighbour.ts'
import { watchApi } from './attack-target.ts'
import type { Target } from './attack-target.ts'
import { makeOrganization } from './prepare.ts'

/** A way to harm the service, by its name. */
export interface Attack {
  readonly name: string
  /** Makes what has to be there before. */
  readonly prepare?: (stage: Stage) => Promise<void>
  /** Returns figures of its own, shown beside those of every attack. */
  readonly run: (stage: Stage) => Promise<Record<string, unknown> | void>
}

/** How an attack is run. */
export interface AttackOptions {
  /** The form that takes a second or two. */
  readonly isSmall: boolean
  /** An attack that takes longer is cut off. */
  readonly boundMs: number
}

/** What an attack cost. */
export interface AttackFigures {
  readonly attack: string
  readonly seconds: number
  /** Null for an attack that came to its end. */
  readonly broken: 'cut off' | 'the API ended' | null
  /** The most memory the API has had since it was started. */
  readonly rssMib: number
  /** The longest hold of the event loop of the API, by the clock and in time of the processor. */
  readonly holdMs: number
  readonly holdCpuMs: number
  readonly neighbour: NeighbourFigures
  /** How often the attacker got which status; errors of connections by their codes. */
  readonly statuses: Readonly<Record<string, number>>
  readonly more: Readonly<Record<string, unknown>>
}

/** Attacks a service while another organization calls it, and measures both. */
export async function measureAttack(
  target: Target,
  attack: Attack,
  { isSmall, boundMs }: AttackOptions,
): Promise<AttackFigures> {
  await using opened = new AsyncDisposableStack()
  const stage = await openStage(opened, target, isSmall)
  await attack.prepare?.(stage)
  const neighbour = await startNeighbour(stage)
  const watch = watchApi(stage.api)
  const startedAt = performance.now()
  const ended = await runBounded(attack, stage, boundMs)
  const seconds = Math.round((performance.now() - startedAt) / 100) / 10
  const figures = await neighbour.stop()
  return {
    attack: attack.name,
    seconds,
    broken: ended.broken,
    ...(await watch.stop()),
    neighbour: figures,
    statuses: Object.fromEntries(stage.statuses),
    more: ended.more,
  }
}

async function runBounded(attack: Attack, stage: Stage, boundMs: number) {
  const done = new AbortController()
  const breaks = async (event: Promise<unknown>, broken: AttackFigures['broken']) => {
    await event.catch(() => new Promise(() => undefined))
    return { more: {}, broken }
  }
  const run = attack.run(stage).then((more) => ({ more: more ?? {}, broken: null }))
  try {
    return await Promise.race([
      run,
      breaks(once(stage.api, 'exit', done), 'the API ended'),
      breaks(setTimeout(boundMs, undefined, done), 'cut off'),
    ])
  } finally {
    done.abort()
    run.catch(() => undefined)
  }
}

/** A target with an attacker and somebody else. */
async function openStage(opened: AsyncDisposableStack, target: Target, isSmall: boolean) {
  const attacker = await makeOrganization(target.sql)
  const other = await makeOrganization(target.sql)
  const agent = new Agent({ keepAlive: true, maxSockets: 256, localAddress: ATTACKER_ADDRESS })
  opened.defer(() => agent.destroy())
  const statuses = new Map<string, number>()
  return {
    ...target,
    isSmall,
    attacker,
    other,
    statuses,
    /** Sends a request of the attacker and counts its status, or the code of the error. */
    async send(path: string, given: Sent = {}) {
      const url = new URL(path, target.address)
      const status = await exchange(url, agent, { key: attacker.key, ...given })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    },
    /** Lets `clients` work one time after another, for some time. */
    async flood(clients: number, ms: number, work: (client: number) => Promise<unknown>) {
      const end = performance.now() + ms
      await Promise.all(
        Array.from({ length: clients }, async (_, client) => {
          while (performance.now() < end) await work(client)
        }),
      )
    },
    /** One more key of the attacker. */
    async makeKey() {
      const { org_id } = attacker.owner
      return (await createKey(target.sql, 'svc_', { ...NEW_KEY, org_id })).api_key
    },
  }
}
export type Stage = Awaited<ReturnType<typeof openStage>>

/** What the attacker sends besides a path. */
interface Sent {
  readonly body?: Uint8Array | string
  readonly headers?: Readonly<Record<string, string>>
  /** Null for none; default the attacker's. */
  readonly key?: string | null
}

function exchange(url: URL, agent: Agent, { body, headers, key }: Sent) {
  return new Promise<string>((resolve) => {
    const sent = request(url, {
      agent,
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        ...(key && { authorization: `Bearer ${key}` }),
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
    })
    sent.on('response', (response: IncomingMessage) => {
      const settle = () => resolve(String(response.statusCode))
      response.resume().once('end', settle).once('error', settle)
    })
    sent.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    sent.end(body)
  })
}

/** Calls for the other organization, from another address than the attacker's. */
async function startNeighbour({ startChild, address, other }: Stage) {
  const child = startChild(['ops/bench/attack-neighbour.ts'], { ADDRESS: address, KEY: other.key })
  await once(child, 'message')
  return {
    async stop() {
      child.send('stop')
      const [figures] = (await once(child, 'message')) as [NeighbourFigures]
      return figures
    },
  }
}

const NEW_KEY = {
  label: 'attack',
  scope: 'global',
  permissions: 'admin',
  workspace_id: null,
  project_id: null,
  expires_at: null,
} as const
/** The neighbour is at 127.0.0.1. */
export const ATTACKER_ADDRESS = '127.0.0.2'
