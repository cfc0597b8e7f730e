import { randomOf } from '../random.ts'

/** A trace of which each double tells in the words of its platform. */
export interface PlatformTrace {
  /** A UUID; those of later traces are greater. */
  readonly id: string
  readonly session: string
  /** The first is the root. */
  readonly steps: readonly Step[]
  /** What a person said of the trace; null for nothing yet. */
  readonly score: TraceScore | null
}

export interface TraceScore {
  readonly id: string
  /** 0 to 1. */
  readonly value: number
}

export interface Step {
  readonly id: string
  readonly parent: string | null
  readonly kind: 'agent' | 'llm' | 'tool'
  readonly from: Date
  readonly to: Date
  /** What was asked, and what came of it. */
  readonly asked: string
  readonly answered: string
}

/**
 * Traces over the days from FIRST_DAY on, in the order of their times. One begins at each midnight, and
 * the one before it goes on after it.
 */
export function makePlatformTraces(perDay: number, { seed = 1 } = {}): PlatformTrace[] {
  const random = randomOf(seed)
  const stepMs = DAY_MS / perDay
  return Array.from({ length: perDay * DAYS }, (_, i) => {
    const from = FIRST_DAY.getTime() + i * stepMs
    const at = (share: number) => new Date(from + Math.floor(share * stepMs * 1.5))
    const ids = [0, 1, 2, 3].map((n) => idOf(i * 8 + n)) as [string, string, string, string]
    const step = (n: number, kind: Step['kind'], begin: number, end: number): Step => ({
      id: ids[n] as string,
      parent: n === 0 ? null : ids[0],
      kind,
      from: at(begin),
      to: at(end),
      asked: `Where is parcel ${i}.${n}?`,
      answered: `In Graz, shelf ${Math.floor(random() * 1e9)}.`,
    })
    return {
      id: ids[0],
      session: `session ${i % 5}`,
      // Two begin at once, as clocks of milliseconds have it.
      steps: [step(0, 'agent', 0, 1), step(1, 'llm', 0, 0.5), step(2, 'tool', 0.7, 0.9)],
      score: { id: ids[3], value: Math.floor(random() * 100) / 100 },
    }
  })
}

function idOf(n: number) {
  return `01900000-0000-7000-8000-${n.toString(16).padStart(12, '0')}`
}

export const FIRST_DAY = new Date('2026-03-01T00:00:00.000Z')
const DAYS = 3
const DAY_MS = 86_400_000
/** The end of the last day that anything begins on. */
export const LAST_DAY = new Date(FIRST_DAY.getTime() + (DAYS + 1) * DAY_MS)
