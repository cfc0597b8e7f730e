import ipaddr from 'ipaddr.js'
import type { WordRule } from './word-rule.ts'

/** Addresses that do not say where they lead, or that no provider stands for. */
export const LINK_RULES: readonly WordRule[] = [
  {
    code: 'metadata_service',
    severity: 'critical',
    hints: ['169.254.', 'metadata', '100.100.100.200', 'ec2::254', 'a9fe', '2852039166'],
    // Of clouds; also in the other ways to write the same address.
    pattern:
      /(?<![\w.])(?:169\.254\.169\.254|169\.254\.170\.2(?:3)?|100\.100\.100\.200|0xa9fea9fe|2852039166)(?![\w]|\.\d)|\bmetadata\.(?:google\.internal|goog)\b|\bfd00:ec2::254\b|::ffff:a9fe:a9fe/gi,
  },
  {
    code: 'short_link',
    severity: 'warning',
    hints: ['/'],
    pattern:
      /(?<![\w.-])(?:bit\.ly|tinyurl\.com|t\.co|goo\.gl|is\.gd|v\.gd|ow\.ly|buff\.ly|rebrand\.ly|cutt\.ly|shorturl\.at|tiny\.cc|rb\.gy|t\.ly|bl\.ink|lnkd\.in|adf\.ly|soo\.gd|qr\.ae|x\.gd|s\.id|shorte\.st|clck\.ru)\/\w/gi,
  },
  {
    code: 'raw_ip_url',
    severity: 'warning',
    hints: ['://'],
    pattern:
      /\b(?:https?|ftp|wss?):\/\/(?:[^\s/@]{1,100}@)?(?:\[(?<six>[0-9a-f:.]{2,45})\]|(?<four>0x[0-9a-f]{8}|\d{8,10}|\d{1,3}(?:\.\d{1,3}){3}))(?![\w.-])/gi,
    isOne: ({ groups }) => isPublic(groups?.['six'] ?? groups?.['four'] ?? ''),
  },
]

/** Neither of this machine, nor of a network within a house, nor one that documents use. */
function isPublic(address: string) {
  return ipaddr.isValid(address) && ipaddr.parse(address).range() === 'unicast'
}
