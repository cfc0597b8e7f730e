import ipaddr from 'ipaddr.js'

/**
 * Characters of the IBAN that a text begins with, 0 for none: ISO 7064 MOD 97-10 over the length that
 * accounts of its country have (SWIFT's IBAN registry).
 */
export function measureIban(value: string) {
  const length = IBAN_LENGTHS.get(value.slice(0, 2))
  if (length === undefined) return 0
  let end = 0
  let iban = ''
  while (iban.length < length && end < value.length) {
    const character = value.charAt(end++)
    if (character !== ' ') iban += character
  }
  // What goes on without a gap is something longer.
  if (iban.length < length || /[0-9A-Z]/.test(value.charAt(end))) return 0
  let rest = 0
  for (const character of iban.slice(4) + iban.slice(0, 4)) {
    for (const digit of String(parseInt(character, 36))) rest = (rest * 10 + Number(digit)) % 97
  }
  return rest === 1 ? end : 0
}

const IBAN_LENGTHS = new Map(
  `AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29
  ES24 FI18 FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20
  LB28 LC32 LI21 LT20 LU20 LV21 LY25 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25
  QA29 RO24 RS22 SA24 SC31 SE24 SI19 SK24 SM27 ST25 SV28 TL23 TN24 TR26 UA29 VA22 VG24 XK20`
    .split(/\s+/)
    .map((entry) => [entry.slice(0, 2), Number(entry.slice(2))]),
)

/** First digits and a length that cards of one issuer have, and Luhn's check (ISO/IEC 7812-1). */
export function isCard(value: string) {
  const digits = value.replace(/\D/g, '')
  if (!CARDS.test(digits)) return false
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits.charAt(digits.length - 1 - i))
    sum += i % 2 === 0 ? digit : digit > 4 ? digit * 2 - 9 : digit * 2
  }
  return sum % 10 === 0
}

/** Visa, American Express, Diners Club, Mastercard, JCB, Maestro, Discover, UnionPay, Mir. */
const CARDS = new RegExp(
  `^(?:${[
    '4(?:\\d{12}|\\d{15}|\\d{18})',
    '3[47]\\d{13}',
    '3(?:0[0-5]|[689]\\d)(?:\\d{11}|\\d{13})',
    '(?:5[1-5]|22[2-9]|2[3-6]|27[0-2]|220[0-4])\\d*(?<=^\\d{16})',
    '(?:35|2131|1800)\\d*(?<=^\\d{15,16})',
    '(?:50|5[6-8]|6)\\d*(?<=^(?:\\d{16}|\\d{19}))',
  ].join('|')})$`,
)

/** Neither the address of every machine itself nor something that merely has colons. */
export function isAddress(value: string) {
  if (!ipaddr.isValid(value)) return false
  if (value.includes(':') && (value.match(/[0-9a-f]+/gi)?.length ?? 0) < 3) return false
  const range = ipaddr.parse(value).range()
  return range !== 'loopback' && range !== 'unspecified'
}

/** Written by itself: no date, address, number of a book, or numbers in a row. */
export function isPhone(value: string) {
  const digits = value.replace(/\D/g, '')
  if (/^\(?\+/.test(value)) return digits.length >= 8 && digits.length <= 15
  const groups = value.split(/[ .-]+/)
  const marks = groups.length - 1 + (value.match(/[()]/g)?.length ?? 0)
  if (digits.length < 10 || digits.length > 14 || marks < 2) return false
  if (DECIMALS.test(value) || VERSION.test(value) || COUNTED.test(value)) return false
  if (DATE.test(value) || ADDRESS.test(value) || BOOK.test(digits)) return false
  // The check digit of a book's older number.
  if (groups.at(-1)?.length === 1) return false
  // Numbers in a row are no phone number only because blanks part them.
  return /^[0(]/.test(value) || /[.-]/.test(value) || NORTH_AMERICAN.test(value)
}

const DATE = /^(?:\d{4}[-.]\d{2}[-.]\d{2}|\d{1,2}[-.]\d{1,2}[-.]\d{4})/
/** Numbers with a point in a row, such as coordinates. */
const DECIMALS = /^\(?\d{1,3}\.\d+(?: -?\d{1,3}\.\d+)+$/
const VERSION = /^\d+\.\d\.\d+\.\d+$/
/** Numbers counted up. */
const COUNTED = /^(?:\d{1,2}[ -]){5,}\d{1,2}$/
const ADDRESS = /^\d{1,3}(?:\.\d{1,3}){3}$/
const BOOK = /^97[89]\d{10}$/
const NORTH_AMERICAN = /^\d{3} \d{3} \d{4}$/
