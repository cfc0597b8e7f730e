/**
 * The reference runner of replays: claims tasks, gives each to a command, and submits what it prints.
 *
 *   BASE=https://host/api/v1 KEY=svc_sk_... npx node ops/runner.ts [options] -- command [argument...]
 *
 *   --batch ID         only tasks of this batch
 *   --agent NAME       only tasks of this agent
 *   --concurrency N    commands at once, 1 to 50; default 4
 *   --lease SECONDS    how long a task stays ours without a sign of life, 1 to 3,600; default 60
 *   --timeout SECONDS  how long a command may take, 1 to 86,400; default 600
 *   --grace SECONDS    how long commands may go on after SIGTERM, SIGINT or SIGHUP, 0 to 86,400; default
 *                      30. A second signal ends them at once
 *   --until-empty      ends when there is nothing to claim, instead of waiting for more
 *
 * The command reads a task as JSON from standard input and prints one JSON object. It is
 *   1. a bare trace where it has a member that only traces have (`llm_calls`, `spans`, previews, ...; an
 *      `eval_score` may stand there too). The `status` of a trace is success, error or partial
 *   2. else a submission as it stands where its `status` is completed, failed or skipped
 *   3. else a completed run where it has `trace`, `replayed_trace_id` or `eval_score`
 *   4. else a bare trace
 * Any exit code but 0 is a failure, which is tried again. ops/docs/replay.md tells more.
 *
 * Ends with exit code 2 where it is misused; 1 where it can do no more, and with --until-empty where a
 * task has failed for good.
 *
 * Made to be copied: it imports nothing but modules of Node.js.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { hostname } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const USAGE = 'Usage: BASE=... KEY=... node runner.ts [options] -- command [argument...]'
const { values, positionals: command } = readOptions()
const { BASE = '', KEY = '' } = process.env
if (!/^https?:/.test(BASE)) misuse('BASE is the address of the API: https://host/api/v1')
if (KEY === '') misuse('KEY is an API key')
if (command.length === 0) misuse('There is no command')
const untilEmpty = values['until-empty']
const concurrency = wholeNumber('concurrency', 1, 50)
const lease_seconds = wholeNumber('lease', 1, 3600)
const timeoutMs = wholeNumber('timeout', 1, 86_400) * 1000
const graceMs = wholeNumber('grace', 0, 86_400) * 1000
/** Characters at the end of what a command complains that are told to the service. */
const MAX_COMPLAINT = 3000
/** Characters that a command may print. */
const MAX_OUTPUT = 16 << 20

const OUTCOMES: readonly unknown[] = ['completed', 'failed', 'skipped']
/** Members of traces that no submission has. */
const OF_TRACES = [
  'llm_calls',
  'spans',
  'user_input_preview',
  'final_output_preview',
  'trace_id',
  'agent_name',
  'started_at',
]

const STOPPED = 'The runner was stopped'

/** Aborted when nothing more is to be claimed, when commands are killed, and when nothing more is sent. */
const [stop, kill, end] = [new AbortController(), new AbortController(), new AbortController()]
let isStopping = false
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.on(signal, () => (isStopping ? kill.abort(STOPPED) : void stopInOrder()))
}
// Commands are in groups of their own, which would live on.
process.on('exit', () => kill.abort(STOPPED))
await work()

function readOptions() {
  try {
    return parseArgs({
      allowPositionals: true,
      options: {
        batch: { type: 'string' },
        agent: { type: 'string' },
        concurrency: { type: 'string', default: '4' },
        lease: { type: 'string', default: '60' },
        timeout: { type: 'string', default: '600' },
        grace: { type: 'string', default: '30' },
        'until-empty': { type: 'boolean', default: false },
      },
    })
  } catch (error) {
    return misuse((error as Error).message)
  }
}

function wholeNumber(
  option: 'concurrency' | 'lease' | 'timeout' | 'grace',
  min: number,
  max: number,
) {
  const value = /^\d+$/.test(values[option]) ? Number(values[option]) : NaN
  if (value >= min && value <= max) return value
  return misuse(`--${option} is a whole number from ${min} to ${max}`)
}

function misuse(fault: string): never {
  say(`${fault}\n${USAGE}`)
  // oxlint-disable-next-line unicorn/no-process-exit -- nothing runs yet
  process.exit(2)
}

/** Keeps as many commands running as may be, until it is told to stop. */
async function work() {
  const running = new Set<Promise<void>>()
  while (!stop.signal.aborted) {
    const max = concurrency - running.size
    // What runs now may give its task back after the claim has been answered.
    const isIdle = running.size === 0
    const { tasks, waitMs } = max > 0 ? await claim(max) : { tasks: [], waitMs: 0 }
    for (const task of tasks) {
      const performed: Promise<void> = perform(task).finally(() => running.delete(performed))
      running.add(performed)
    }
    if (tasks.length > 0) continue
    if (untilEmpty && isIdle) break
    if (max > 0 && !untilEmpty) await rest(waitMs, stop.signal)
    else if (running.size > 0) await Promise.race(running)
  }
  await Promise.all(running)
}

async function claim(max: number): Promise<{ tasks: Task[]; waitMs: number }> {
  const worker_id = `${hostname()}:${process.pid}`
  const wanted = { batch_id: values.batch, agent_name: values.agent, max }
  const body = { ...wanted, worker_id, lease_seconds }
  const answer = await send('/replay/tasks/claim', body, { until: stop })
  if (answer && !answer.body.tasks) giveUp(`No tasks can be claimed: ${answer.detail}`)
  return { tasks: answer?.body.tasks ?? [], waitMs: answer?.retryAfterMs ?? 5000 }
}

/** Runs the command for a task and submits what came of it, unless the task is no longer ours by then. */
async function perform({ lease_token, leased_until: _, ...task }: Task) {
  const over = new AbortController()
  const beating = beat(task.id, lease_token, over)
  const result = await run(task, over.signal).catch(cannotStart)
  const isLost = over.signal.aborted
  if (isLost) say(`${task.id}: is no longer ours`)
  else if (result.error) say(`${task.id}: ${result.error}`)
  // The lease is kept until the result is there, however long the service is away.
  if (!isLost) await submit(task.id, lease_token, result)
  over.abort()
  await beating
}

/** Gives the task back, and claims no more of those that would fare no better. */
function cannotStart({ message }: Error): Result {
  giveUp(`The command ${command[0]} cannot be started: ${message}`)
  return { status: 'failed', error: message, retry: true }
}

/** Tells that the task is worked on, until it is over. Ends it when the lease is lost. */
async function beat(id: string, lease_token: string, over: AbortController) {
  for (;;) {
    await rest((lease_seconds * 1000) / 3, over.signal)
    if (over.signal.aborted) return
    const lease = { lease_token, lease_seconds }
    const answer = await send(`/replay/tasks/${id}/heartbeat`, lease, {
      until: over,
      request: over,
    })
    if (answer && answer.status !== 200) over.abort('The lease is lost')
  }
}

/** Sends the same body until it is answered: the service knows it again. */
async function submit(id: string, lease_token: string, result: Result): Promise<void> {
  const answer = await send(
    `/replay/tasks/${id}/submit`,
    { ...result, lease_token },
    { until: end },
  )
  if (!answer) return say(`${id}: could not be submitted any more`)
  const { status, body, detail } = answer
  if (status === 200 && body.status) {
    if (untilEmpty && body.status === 'failed') process.exitCode = 1
    return say(`${id}: ${body.status} ${body.comparison?.outcome ?? ''}`.trim())
  }
  say(`${id}: ${detail}`)
  // The quota is used up, or the key may do nothing more: the next task would fare no better.
  if ([401, 402, 403].includes(status)) giveUp(detail)
  const { error: _, retry: __, ...told } = result
  const isBare = result.status === 'failed' && Object.keys(told).length === 1
  if (![400, 413, 422].includes(status) || isBare) return
  const error = `The result was refused: ${detail}`
  await submit(id, lease_token, { status: 'failed', error })
}

/** What the command makes of a task. Throws where it cannot be started. */
async function run(task: object, over: AbortSignal): Promise<Result> {
  const excess = new AbortController()
  const timeout = AbortSignal.timeout(timeoutMs)
  const signal = AbortSignal.any([over, kill.signal, excess.signal, timeout])
  const [program = '', ...args] = command
  // In a group of its own: Ctrl-C at a terminal is for the runner alone.
  const child = spawn(program, args, { detached: true })
  let [stdout, stderr] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text
    if (stdout.length > MAX_OUTPUT) excess.abort('It printed too much')
  })
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-MAX_COMPLAINT)
  })
  // A command may end without reading its task.
  child.stdin.on('error', () => undefined).end(JSON.stringify(task))
  const fault = await new Promise<string | undefined>((resolve, reject) => {
    const cut = () => {
      killGroup(child)
      resolve(String(signal.reason))
    }
    child.on('error', reject)
    child.on('close', (code, by) => {
      signal.removeEventListener('abort', cut)
      resolve(code === 0 ? undefined : (by ?? `exit code ${code}`))
    })
    if (signal.aborted) cut()
    else signal.addEventListener('abort', cut)
  })
  // A program that it started in another group may live on and hold them.
  for (const stream of child.stdio) stream?.destroy()
  const result = fault === undefined ? readResult(stdout) : undefined
  const error = `${fault ?? 'It printed no JSON object'}\n${stderr}`.trim()
  return result ?? { status: 'failed', error, retry: true }
}

/** Kills a command with the programs that it started. */
function killGroup(child: ChildProcess) {
  try {
    process.kill(-(child.pid ?? NaN), 'SIGKILL')
  } catch {
    // There are no groups on Windows.
    child.kill('SIGKILL')
  }
}

function readResult(stdout: string): Result | undefined {
  const printed = readObject(stdout)
  if (!printed) return undefined
  const has = (names: readonly string[]) => names.some((name) => name in printed)
  const completed = { status: 'completed' }
  if (has(OF_TRACES) && !has(['trace', 'replayed_trace_id'])) {
    return { ...completed, trace: printed, eval_score: printed['eval_score'] }
  }
  if (OUTCOMES.includes(printed['status'])) return printed as unknown as Result
  const isResult = has(['trace', 'replayed_trace_id', 'eval_score'])
  return { ...(isResult ? printed : { trace: printed }), ...completed }
}

function readObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/**
 * Posts until there is an answer other than that the service is busy or away, waiting as long as it asks
 * or longer each time. Undefined when it was told to stop waiting.
 */
async function send(path: string, body: object, { until, request = end }: Patience) {
  for (let attempt = 0; ; attempt++) {
    const answer = await post(path, body, request.signal).catch(asAway)
    if (answer.status !== 429 && answer.status < 500) return answer
    const backoffMs = Math.min(30_000, 500 * 2 ** attempt) * (0.5 + Math.random() / 2)
    if (attempt === 0 && !until.signal.aborted) say(`${path} is tried again: ${answer.detail}`)
    await rest(answer.retryAfterMs ?? backoffMs, until.signal)
    if (until.signal.aborted) return undefined
  }
}

async function post(path: string, body: object, signal: AbortSignal) {
  const response = await fetch(`${BASE}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
    signal: AbortSignal.any([signal, end.signal, AbortSignal.timeout(60_000)]),
  })
  const text = await response.text()
  // Without JSON, another program answers there.
  const answer: Answer = readObject(text) ?? {}
  const seconds = response.headers.get('retry-after')
  const retryAfterMs = seconds === null ? undefined : Number(seconds) * 1000
  const detail = detailOf(answer) ?? `status ${response.status} ${text.slice(0, 200)}`.trim()
  return { status: response.status, body: answer, detail, retryAfterMs }
}

function detailOf({ detail }: Answer) {
  return typeof detail === 'string' ? detail : detail?.message
}

function asAway(error: Error): Awaited<ReturnType<typeof post>> {
  const { code, message } = (error.cause ?? {}) as NodeJS.ErrnoException
  const detail = [error.message, code ?? message].filter(Boolean).join(': ')
  return { status: 503, body: {}, detail, retryAfterMs: undefined }
}

/** Claims nothing more, lets commands go on for a while, then gives their tasks back. */
async function stopInOrder() {
  isStopping = true
  stop.abort()
  await setTimeout(graceMs, undefined, { ref: false, signal: kill.signal }).catch(() => undefined)
  kill.abort(STOPPED)
  await setTimeout(10_000, undefined, { ref: false })
  end.abort()
}

function giveUp(reason: string) {
  if (!stop.signal.aborted) say(reason)
  process.exitCode = 1
  stop.abort()
}

async function rest(ms: number, signal: AbortSignal) {
  await setTimeout(ms, undefined, { signal }).catch(() => undefined)
}

function say(sentence: string) {
  process.stderr.write(`${sentence}\n`)
}

type Task = Readonly<Record<'id' | 'lease_token' | 'leased_until', string>>
interface Patience {
  /** Aborted when it shall send no more. */
  readonly until: AbortController
  /** Aborted when a request under way is of no use any more; the answer to a claim always is. */
  readonly request?: AbortController
}
type Result = {
  status: string
  error?: string
  retry?: boolean
  trace?: object
  eval_score?: unknown
}
interface Answer {
  readonly tasks?: Task[]
  readonly status?: string
  readonly comparison?: { readonly outcome: string } | null
  readonly detail?: string | { readonly message: string }
}
