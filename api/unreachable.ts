import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import { hostOf, isAllowedAddress, NOT_REACHED } from '../jobs/rules/core/outbound-address.ts'
import type { AllowedNetworks } from '../jobs/rules/core/outbound-address.ts'
import { badRequest } from './errors.ts'

/**
 * Refuses an address of a client's that leads into a private network by now; each request to it checks
 * again. A name that does not resolve yet is accepted.
 * @param member what the request calls the address
 * @throws ApiError 400
 */
export async function refuseUnreachable(member: string, url: string, allowed: AllowedNetworks) {
  const host = hostOf(url)
  const addresses = isIP(host) ? [host] : await resolveAll(host)
  const local = host === 'localhost' || host.endsWith('.localhost')
  const loopback = local ? ['127.0.0.1', '::1'] : []
  if ([...addresses, ...loopback].some((address) => !isAllowedAddress(address, allowed))) {
    throw badRequest(`${member} ${NOT_REACHED}`)
  }
}

async function resolveAll(name: string) {
  const resolver = new Resolver({ timeout: DNS_TIMEOUT_MS, tries: 1 })
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
}

const DNS_TIMEOUT_MS = 1500
