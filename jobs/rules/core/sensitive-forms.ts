import { isAddress, isCard, isPhone, measureIban } from './sensitive-numbers.ts'

/** A form in which values of a class are written. */
export interface SensitiveForm {
  /** A cheap test that most texts without such a value do not pass. */
  readonly mayHold: (text: string) => boolean
  /**
   * Takes time linear in the text. The value is the group `value`, with which the match ends, or else the
   * whole match; what the group `before` found just before the match belongs to it.
   */
  readonly pattern: RegExp
  /** How many characters of what the pattern found are the value; 0 where it is none. */
  readonly measure?: (value: string) => number
}

const holds =
  (...words: readonly string[]) =>
  (text: string) =>
    words.some((word) => text.includes(word))
/** Four digits that at most two characters part: fewer are no value. */
const hasDigits = (text: string) => /\d(?:[ .()-]{0,2}\d){3}/.test(text)
const hasSecretWord = (text: string) => SECRET_WORD.test(text)

/** Characters by which services mark their keys, and what follows them. */
const API_KEYS = [
  'sk-[\\w-]{20,}',
  '[sr]k_(?:live|test)_\\w{16,}',
  'whsec_[A-Za-z0-9+/]{24,}',
  // This service's own, whatever prefix is configured.
  '[a-z0-9]{1,16}_sk_[0-9A-Za-z]{38}',
  'A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}',
  'gh[pousr]_[0-9A-Za-z]{36,}',
  'github_pat_\\w{40,}',
  'glpat-[\\w-]{20,}',
  'glsa_\\w{32,}',
  'xox[abeoprs]-[0-9A-Za-z-]{10,}',
  'xapp-[0-9A-Za-z-]{20,}',
  'AIza[\\w-]{35}',
  'ya29\\.[\\w-]{20,}',
  'GOCSPX-[\\w-]{20,}',
  'SG\\.[\\w-]{16,}\\.[\\w-]{16,}',
  'npm_[0-9A-Za-z]{36}',
  'pypi-AgE[\\w-]{50,}',
  'hf_[0-9A-Za-z]{30,}',
  'shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}',
  'do[oprt]_v1_[0-9a-f]{64}',
  'dapi[0-9a-f]{32}',
  'lin_api_[0-9A-Za-z]{32,}',
  'r8_[0-9A-Za-z]{37}',
  'gsk_[0-9A-Za-z]{40,}',
  'xai-[0-9A-Za-z]{40,}',
  'nvapi-[\\w-]{40,}',
  'pplx-[0-9A-Za-z]{40,}',
  'AGE-SECRET-KEY-1[0-9A-Z]{58}',
  'hooks\\.slack\\.com/services/T\\w{6,}/B\\w{6,}/\\w{16,}',
  'discord(?:app)?\\.com/api/webhooks/\\d{15,}/[\\w-]{40,}',
  '\\d{8,10}:AA[\\w-]{33}',
]

/** The sign that ends the marks of most keys. */
const KEY_MARK = /[-_.:/](?=[\w+/-]{12})/

/** Keys whose value is secret, also at the end of longer ones such as `aws_secret_access_key`. */
const SECRET_KEYS =
  'pass[-_]?word|passwd|secret|token|authorization|api[-_]?key|access[-_]?key|cookie'
export const SECRET_WORD = new RegExp(SECRET_KEYS, 'i')
/** Whether a text is secret because of the name of its member. */
export const isSecretKey = (name: string) => SECRET_KEY.test(name)
/** The same of a number; behind another word, as in `max_token`, such a name has a count. */
export const isSecretNumberKey = (name: string) => SECRET_NUMBER_KEY.test(name)
// Several tokens are mostly those of a text.
const SECRET_KEY = new RegExp(
  `(?:${SECRET_KEYS}|(?:password|secret|api[-_]?key|access[-_]?key|cookie)s)$`,
  'i',
)
const SECRET_NUMBER_KEY = new RegExp(`^(?:client[-_]?)?(?:${SECRET_KEYS})$`, 'i')
const secretValue = (value: string) =>
  new RegExp(`(?:${SECRET_KEYS})${value.replace('IS', '["\']?\\s{0,4}[:=]\\s{0,4}')}`, 'gi')

/** The forms of each class whose values are found by patterns. */
export const SENSITIVE_FORMS = {
  jwt: [{ mayHold: holds('eyJ'), pattern: /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g }],
  api_key: [
    {
      mayHold: (text) => KEY_MARK.test(text) || holds('IA', 'CCA', 'AIza', 'dapi')(text),
      pattern: new RegExp(`(?<![0-9A-Za-z])(?:${API_KEYS.join('|')})`, 'g'),
    },
  ],
  bearer: [
    {
      mayHold: holds('Bearer', 'bearer', 'BEARER'),
      pattern: /\b(?:[Bb]earer|BEARER)[ \t]{1,4}(?<value>[\w.~+/-]{15,}[\w~+/-]={0,2})/g,
      measure: (value) => (/\d/.test(value) ? value.length : 0),
    },
    {
      mayHold: holds('Basic', 'basic', 'BASIC'),
      pattern: /\b(?:[Bb]asic|BASIC) {1,4}(?<value>[0-9A-Za-z+/]{8,}={0,2})/g,
      measure: (value) => (isUserAndPassword(value) ? value.length : 0),
    },
  ],
  secret: [
    {
      mayHold: hasSecretWord,
      pattern: secretValue('IS"(?<value>(?:[^"\\\\\\n]|\\\\.){1,4096})(?=")'),
    },
    { mayHold: hasSecretWord, pattern: secretValue("IS'(?<value>[^'\\\\\\n]{1,4096})(?=')") },
    // JSON in a text of JSON.
    {
      mayHold: hasSecretWord,
      pattern: secretValue('\\\\"\\s{0,4}:\\s{0,4}\\\\"(?<value>[^"\\\\]{1,4096})(?=\\\\")'),
    },
    // Files of settings and command lines; words of prose and code have no digits in them.
    {
      mayHold: hasSecretWord,
      pattern: secretValue('IS(?<value>[\\w+/~@%^*!-]{8,512}={0,2})(?![\\w.(\\[])'),
      measure: (value) => (/\d/.test(value) && /[a-z]/i.test(value) ? value.length : 0),
    },
    // All cookies of a header; those without a digit are of examples.
    {
      mayHold: hasSecretWord,
      pattern:
        /(?<![\w-])(?:set-)?cookie:[ \t]{0,4}(?<value>[^\s=;"'\\]{1,128}=[^\s;"'\\]{1,4096}(?:;[ \t]?[^\s;"'\\]{1,4096}){0,100})/gi,
      measure: (value) => (/\d/.test(value) ? value.length : 0),
    },
    {
      mayHold: holds('://'),
      pattern: /:\/\/[^\s:@/"'`]{1,64}:(?<value>[^\s@/"'`]{3,256})(?=@)/g,
    },
  ],
  email: [
    {
      mayHold: holds('@'),
      pattern:
        /@(?<=(?<before>[\p{L}\p{M}\p{N}.!#$%&'*+/=?^_`{|}~-]{1,64})@)(?<!(?<![\p{L}\p{N}.+_-])git@)(?:[\p{L}\p{N}-]{1,63}\.){1,8}\p{L}{2,24}/gu,
      measure: (value) => (NO_HOST.test(value) ? 0 : value.length),
    },
  ],
  iban: [
    {
      mayHold: hasDigits,
      pattern: /(?<![0-9A-Z])[A-Z]{2}\d{2}(?: ?[0-9A-Z]){11,30}/g,
      measure: measureIban,
    },
  ],
  card: [
    {
      mayHold: (text) => /\d{4}[ -]?\d{4}/.test(text),
      // The groups of an account number are no card.
      pattern:
        /(?<![\w.-]|[A-Z]{2}\d\d )(?:\d{13,19}|\d{4}([ -])\d{4}\1\d{4}\1\d{4}(?:\1\d{3})?|\d{4}([ -])\d{6}\2\d{4,5})(?!\w|-\d)/g,
      measure: (value) => (isCard(value) ? value.length : 0),
    },
  ],
  ssn_us: [
    {
      mayHold: hasDigits,
      pattern: /(?<![\w-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\w-])/g,
    },
  ],
  ip: [
    {
      mayHold: hasDigits,
      // Neither the version of a program (`Chrome/120.0.0.0`) nor what is called one.
      pattern:
        /(?<![\w.])(?<!\b[Vv](?:er(?:sion)?)?[.:]? ?|[Ss]ection |[A-Za-z]\/(?=\d{1,3}\.0\.0\.0(?!\d)))(?:\d{1,3}\.){3}\d{1,3}(?!\w|\.\d)/g,
      measure: (value) => (isAddress(value) ? value.length : 0),
    },
    {
      mayHold: (text) => /::|(?:[0-9a-f]{1,4}:){4}/i.test(text),
      pattern: /(?<![\w.:])(?:[0-9a-fA-F]{0,4}:){2,7}[0-9a-fA-F]{0,4}(?![\w:]|\.\d)/g,
      measure: (value) => (isAddress(value) ? value.length : 0),
    },
  ],
  phone: [
    {
      mayHold: hasDigits,
      // International; three, three and four digits; or any other groups, which no others precede.
      pattern:
        /(?<![\w.+-])(?:(?:\(\+\d{1,3}\)|\+\d{1,3})[ .-]?(?:\(\d{1,5}\)[ .-]?)?\d(?:[ .-]?\d){5,13}|(?:\(\d{3}\) ?|\d{3}[ .-])\d{3}[ .-]\d{4}|(?<!\d\d )(?:\(\d{2,5}\)[ .-]?)?\d(?:[ .-]?\d){4,13}(?![ .-]\d))(?!\w|[-.:]\d|:\w)/g,
      measure: (value) => (isPhone(value) ? value.length : 0),
    },
  ],
} satisfies Record<string, readonly SensitiveForm[]>

/** Behind an `@`: the version of a package, or the size of an image. */
const NO_HOST = /^@(?:\d+\.\d+\.\d|[1-9]x\.(?:png|jpe?g|gif|webp|avif|svg)$)/i

/** Base64 of `user:password`, as basic authentication has it. */
function isUserAndPassword(value: string) {
  return /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(Buffer.from(value, 'base64').toString('latin1'))
}
