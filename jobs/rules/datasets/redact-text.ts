import { parseJson } from '../core/parse-json.ts'
import { rewriteJson } from '../core/rewrite-json.ts'
import type { JsonRewriting } from '../core/rewrite-json.ts'
import { isSecretKey, isSecretNumberKey, SECRET_WORD } from '../core/sensitive-forms.ts'
import { openValueFinder } from './redacted-values.ts'
import { openPlaceholders } from './placeholders.ts'
import type { Redacted, Redaction } from './redaction.ts'

/** Takes values out of the texts of one row; equal values have one placeholder all over the row. */
export interface TextRedactor {
  /** A text of words, or of a JSON object or list, which it stays. */
  redactText(text: string): string
  /** How many values were taken out, by class. */
  readonly counts: ReadonlyMap<Redacted, number>
  /** Whether the patterns of the project took too many steps to look at all texts. */
  isOverBudget(): boolean
}

/** Returns a function that opens the redactor of a row, which is given what the row says. */
export function openTextRedactors(asked: readonly Redacted[], redaction: Redaction) {
  const { find, stays } = openValueFinder(asked, redaction)
  const hasSecrets = asked.includes('secret')
  const hasPatterns = redaction.patterns.length > 0

  return (said: Iterable<string> = []): TextRedactor => {
    const steps = { left: MAX_STEPS }
    const placeholders = openPlaceholders(said)
    const rewriting: JsonRewriting = {
      name: (name) => redact(name, true),
      marks: (member) => hasSecrets && isSecretKey(member),
      string(value, isMarked) {
        if (!isMarked) return redactText(value)
        return value === '' || stays(value) ? value : placeholders.take('secret', value)
      },
      number(number, member) {
        if (hasSecrets && isSecretNumberKey(member) && !stays(number)) {
          return placeholders.take('secret', number)
        }
        // No shorter number is a value of a class.
        if (!hasPatterns && number.length < CARD_DIGITS) return number
        const sign = number.startsWith('-') ? '-' : ''
        return sign + redactText(number.slice(sign.length))
      },
    }
    function redactText(text: string) {
      return redact(text, false)
    }
    function redact(text: string, isMember: boolean): string {
      if (DATA_URI.test(text)) return text
      const values = find(text, steps)
      if (JSON_START.test(text) && (values.length > 0 || mayHide(text))) {
        if (parseJson(text) !== undefined) return rewriteJson(text, rewriting)
      }
      let redacted = ''
      let at = 0
      for (const { class: name, start, end } of values) {
        redacted +=
          text.slice(at, start) + placeholders.take(name, text.slice(start, end), isMember)
        at = end
      }
      return redacted + text.slice(at)
    }
    /** Whether a text of JSON may hold values that only its members and their strings show. */
    function mayHide(text: string) {
      return HIDING.test(text) || (hasSecrets && SECRET_WORD.test(text))
    }
    return {
      redactText,
      counts: placeholders.counts,
      isOverBudget: () => steps.left < 0,
    }
  }
}

/** Other escapes than those that stand between words, and long numbers behind a sign. */
const HIDING = /\\[^nrt"]|-\d{13}/
const JSON_START = /^\s*[[{]/
/** Contents of images, sounds and files: their characters are no words. */
const DATA_URI = /^data:(?:image|audio|video|font|application)\/[\w.+-]{1,40};base64,[\w+/=]*$/
/** The shortest number that is a value of a class. */
const CARD_DIGITS = 13
/** Some 20 s at worst; most patterns take a hundredth of that. */
const MAX_STEPS = 2 ** 30
