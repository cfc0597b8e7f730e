import { createHmac, timingSafeEqual } from 'node:crypto'

/** Value of `X-Service-Signature`: HMAC-SHA256 over the body's bytes. */
export function signBody(secret: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

/**
 * Checks the payment processor's `t=<seconds>,v1=<hex>[,v1=...]` header over the raw body. A timestamp
 * more than `TOLERANCE_SECONDS` away, in either direction, is `expired`.
 */
export function checkPaymentSignature(
  header: string,
  body: Uint8Array,
  secrets: readonly string[],
  nowSeconds: number,
): 'ok' | 'mismatch' | 'expired' {
  const parts = header.split(',').map((part) => part.trim().split('=', 2) as [string, string?])
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  const given = parts
    .filter(([name, value]) => name === 'v1' && /^[0-9a-f]{64}$/.test(value ?? ''))
    .slice(0, MAX_SIGNATURES)
    .map(([, value]) => Buffer.from(value as string, 'hex'))
  if (!/^\d{1,12}$/.test(time) || given.length === 0) return 'mismatch'
  const expected = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${time}.`).update(body).digest(),
  )
  const matches = given.flatMap((one) => expected.map((other) => timingSafeEqual(one, other)))
  if (!matches.includes(true)) return 'mismatch'
  return Math.abs(nowSeconds - Number(time)) <= TOLERANCE_SECONDS ? 'ok' : 'expired'
}

const TOLERANCE_SECONDS = 300
const MAX_SIGNATURES = 8
