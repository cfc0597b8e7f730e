import { openSecret } from '../../jobs/rules/core/secret-box.ts'
import { signBody } from '../../jobs/rules/webhooks/signature.ts'

export interface OutboundEvent {
  readonly event: string
  /** The same each time the same event is sent, so that its receiver knows it again. */
  readonly id: string
  readonly body: Buffer
  /** Sealed; null to send unsigned. */
  readonly secret: Buffer | null
}

/** The headers of an event that is POSTed to an address of a client. */
export function eventHeaders(
  { event, id, body, secret }: OutboundEvent,
  masterKeys: readonly Uint8Array[],
): Record<string, string> {
  return {
    'content-type': 'application/json',
    'user-agent': 'Service-Webhooks/1.0',
    'x-service-event': event,
    'x-service-event-id': id,
    ...(secret && { 'x-service-signature': signBody(openSecret(masterKeys, secret), body) }),
  }
}
