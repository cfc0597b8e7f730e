import { pino } from 'pino'
import type { DestinationStream } from 'pino'

/**
 * Structured JSON lines, one an event; keys and credentials never reach them.
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
