import { openRandom, openVocabulary } from './random.ts'

/**
 * Lines as `generateTraceLines` makes of the last calls, of runs without tools: a question and its answer,
 * whose training row has about 1 kB. The same seed gives the same lines.
 */
export function* generateShortLines(count: number, seed: number): Generator<string> {
  const random = openRandom(seed)
  const words = openVocabulary(random)
  for (let line = 0; line < count; line++) {
    const messages = [
      { role: 'user', content: words(15 + random.below(30)) },
      { role: 'assistant', content: words(20 + random.below(60)) },
    ]
    yield `${JSON.stringify({
      trace_id: random.hex(32),
      agent_name: 'support-bot',
      session_id: `session-${random.hex(16)}`,
      status: 'success',
      started_at: FIRST_START,
      messages,
      tools: [],
    })}\n`
  }
}

const FIRST_START = '2026-01-01T00:00:00.000Z'
