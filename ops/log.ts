import { pino } from 'pino'
import type { DestinationStream } from 'pino'
import { currentWork } from '../jobs/current-work.ts'

/**
 * Structured JSON lines, one an event, each with the work it belongs to; keys and credentials never reach
 * them.
 * @param destination default standard error
 */
export function openLog(
  name: string,
  level: string | undefined,
  destination: DestinationStream = pino.destination(2),
) {
  return pino(
    {
      name,
      level: level ?? 'info',
      // pino changes what it is given.
      mixin: () => ({ ...currentWork() }),
      redact: {
        paths: ['*.authorization', '*.cookie', '*.raw_key', '*["x-api-key"]', 'headers'],
        remove: true,
      },
      hooks: { streamWrite: (line) => line.replaceAll(API_KEY, '[API key]') },
    },
    destination,
  )
}

/** Where one has come into the text of an error, the redaction by name does not reach it. */
const API_KEY = /[a-z][a-z0-9]*_sk_[0-9A-Za-z]{38}/g
