import { pick } from '../../ops/bench/random.ts'
import type { Random } from '../../ops/bench/random.ts'
import type { SensitiveClass } from '../../jobs/rules/core/sensitive.ts'

/**
 * Makes values of each class, another one each time, in the spellings that people use. They are made by the
 * definitions of the formats, not by the rules that find them.
 */
export function openPlantedValues(random: Random): Record<SensitiveClass, () => string> {
  const from = (alphabet: string, length: number) =>
    Array.from({ length }, () => alphabet.charAt(random.below(alphabet.length))).join('')
  const digits = (length: number) => from('0123456789', length)
  const word = () => from('abcdefghijklmnopqrstuvwxyz', 3 + random.below(7))
  const base62 = (length: number) =>
    from('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', length - 1) +
    random.below(10)
  const octet = () => 1 + random.below(254)
  const group4 = (text: string) => text.replace(/(.{4})(?=.)/g, '$1 ')

  return {
    email: () => {
      const name = pick([word(), `${word()}.${word()}`, `${word()}+${digits(2)}`], random)
      return `${name}@${word()}.${pick(['com', 'org', 'co.uk', 'example'], random)}`
    },
    phone: () =>
      pick(
        [
          `+49 30 ${digits(7)}`,
          `+1${2 + random.below(8)}${digits(9)}`,
          `+44 20 ${digits(4)} ${digits(4)}`,
          `(${2 + random.below(8)}${digits(2)}) ${digits(3)}-${digits(4)}`,
          `${2 + random.below(8)}${digits(2)}-${digits(3)}-${digits(4)}`,
          `${2 + random.below(8)}${digits(2)}.${digits(3)}.${digits(4)}`,
        ],
        random,
      ),
    ip: () =>
      pick(
        [
          `${[10, octet(), octet(), octet()].join('.')}`,
          `${[11 + random.below(80), octet(), octet(), octet()].join('.')}`,
          `2001:db8:${from('123456789abcdef', 4)}::${from('123456789abcdef', 3)}`,
        ],
        random,
      ),
    card: () => {
      const [first, length] = pick(
        [
          ['4', 16],
          ['51', 16],
          ['34', 15],
          ['6011', 16],
        ] as const,
        random,
      )
      const card = withLuhn(first + digits(length - first.length - 1))
      return length === 16 && random.next() < 0.5 ? group4(card) : card
    },
    iban: () => {
      const iban = withMod97(pick([`DE${digits(18)}`, `NL${from('ABCD', 4)}${digits(10)}`], random))
      return random.next() < 0.5 ? group4(iban) : iban
    },
    ssn_us: () =>
      `${100 + random.below(500)}-${10 + random.below(90)}-${1000 + random.below(9000)}`,
    bearer: () => base62(30),
    jwt: () => `eyJhbGciOiJIUzI1NiJ9.eyJ${base62(20)}.${base62(30)}`,
    api_key: () =>
      pick([`sk-${base62(40)}`, `ghp_${base62(36)}`, `AKIA${from('ABCDEF234567', 16)}`], random),
    private_key: () =>
      `-----BEGIN PRIVATE KEY-----\n${base62(64)}\n${base62(40)}\n-----END PRIVATE KEY-----`,
    secret: () => `${word()}-${base62(9)}`,
  }
}

/** How a value of a class is told to be one in prose. */
export const LEADS: Readonly<Partial<Record<SensitiveClass, readonly [string, string]>>> = {
  bearer: ['Authorization header Bearer ', ''],
  secret: ['password="', '"'],
}

/** Texts that look like values and are none. */
export function openLikenesses(random: Random): () => string {
  const digits = (length: number) => Array.from({ length }, () => String(random.below(10))).join('')
  const two = (below: number) => String(1 + random.below(below)).padStart(2, '0')
  const KINDS = [
    () => `on 20${two(25)}-${two(12)}-${two(28)} at ${two(22)}:${two(58)}:${two(58)}`,
    () => `20${two(25)}-${two(12)}-${two(28)}T${two(22)}:${two(58)}:${two(58)}.${digits(3)}Z`,
    () => `version v${random.below(9)}.${random.below(9)}.${random.below(20)}.${random.below(9)}`,
    () => `release ${random.below(20)}.${random.below(20)}.${random.below(20)}`,
    () => `Chrome/1${two(30)}.0.0.0 Safari/537.36`,
    () =>
      `request ${random.hex(8)}-${random.hex(4)}-${random.hex(4)}-${random.hex(4)}-${random.hex(12)}`,
    () => `commit ${random.hex(40)}`,
    () => `digest sha256:${random.hex(64)}`,
    () => `order ${digits(10)}`,
    () => `id 1${digits(12)}`,
    () => `card like ${withoutLuhn(`4${digits(15)}`)}`,
    () => `$${digits(3)},${digits(3)}.${digits(2)}`,
    () => `0.${digits(16)}`,
    () =>
      `${1 + random.below(9)}${digits(1)} ${digits(2)} ${digits(2)} ${digits(2)} ${digits(2)} ${digits(2)}`,
    () => `lodash@4.${random.below(20)}.${random.below(99)}`,
    () => `icon-${digits(2)}@2x.png`,
    () => `git@github.com:team-${digits(2)}/app.git`,
    () => `@decorator_${digits(2)}(x @ y)`,
    () => `{"max_tokens": ${digits(4)}, "token_count": "${digits(2)}"}`,
    () => `127.0.0.1:${digits(4)} and 0.0.0.0`,
    () => `ISBN 978-3-16-${digits(6)}-${digits(1)}`,
    () => `tel. ${digits(3)}-${digits(4)}`,
    () => `DE00 ${digits(4)} ${digits(4)} ${digits(4)} ${digits(4)} ${digits(2)}`,
    () => `the bearer of ${digits(4)} tokens`,
    () => `task-${digits(3)}-of-the-whole-team-and-more`,
    () => `std::vector<int>::iterator a${digits(2)}`,
    () => `mac 0a:1b:2c:3d:4e:${random.hex(2)}`,
    () => `900-${two(90)}-${digits(4)}`,
  ]
  return () => pick(KINDS, random)()
}

/** With the digit behind that makes Luhn's sum a multiple of ten. */
function withLuhn(digits: string) {
  return digits + ((10 - (luhn(`${digits}0`) % 10)) % 10)
}

function withoutLuhn(digits: string) {
  return luhn(digits) % 10 === 0 ? digits.slice(0, -1) + ((Number(digits.at(-1)) + 1) % 10) : digits
}

function luhn(digits: string) {
  return digits
    .split('')
    .toReversed()
    .reduce((sum, digit, i) => {
      const value = Number(digit) * (i % 2 === 0 ? 1 : 2)
      return sum + (value > 9 ? value - 9 : value)
    }, 0)
}

/** Country and account with their check digits (ISO 7064). */
function withMod97(account: string) {
  const [country, rest] = [account.slice(0, 2), account.slice(2)]
  const numbers = `${rest}${country}00`.replace(/[A-Z]/g, (each) => String(parseInt(each, 36)))
  return `${country}${String(98n - (BigInt(numbers) % 97n)).padStart(2, '0')}${rest}`
}
