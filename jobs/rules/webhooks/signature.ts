import { createHmac, timingSafeEqual } from 'node:crypto'

/** Value of `X-Service-Signature`: HMAC-SHA256 over the body's bytes. */
export function signBody(secret: string, body: Uint8Array): string {
  return `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`
}

/** The payment processor's header `t=<seconds>,v1=<hex>[,v1=...]`. */
export interface PaymentSignature {
  /** Seconds since 1970, as they were written and signed. */
  readonly time: string
  readonly given: readonly Buffer[]
}

/** Undefined for what signs nothing, whatever the body. */
export function readPaymentSignature(header: string): PaymentSignature | undefined {
  const parts = header.split(',').map((part) => part.trim().split('=', 2) as [string, string?])
  const time = parts.find(([name]) => name === 't')?.[1] ?? ''
  const given = parts
    .filter(([name, value]) => name === 'v1' && /^[0-9a-f]{64}$/.test(value ?? ''))
    .slice(0, MAX_SIGNATURES)
    .map(([, value]) => Buffer.from(value as string, 'hex'))
  return /^\d{1,12}$/.test(time) && given.length > 0 ? { time, given } : undefined
}

/** Whether something was signed at most `TOLERANCE_SECONDS` ago, or ahead. */
export function isTimely({ time }: PaymentSignature, nowSeconds: number): boolean {
  return Math.abs(nowSeconds - Number(time)) <= TOLERANCE_SECONDS
}

/** Whether one of the signatures is that of the raw body and the time, with one of the secrets. */
export function isSignedPayment(
  { time, given }: PaymentSignature,
  body: Uint8Array,
  secrets: readonly string[],
): boolean {
  const expected = secrets.map((secret) =>
    createHmac('sha256', secret).update(`${time}.`).update(body).digest(),
  )
  const matches = given.flatMap((one) => expected.map((other) => timingSafeEqual(one, other)))
  return matches.includes(true)
}

const TOLERANCE_SECONDS = 300
const MAX_SIGNATURES = 8
