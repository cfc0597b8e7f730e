import { parseJson } from '../core/parse-json.ts'
import { rewriteJson } from '../core/rewrite-json.ts'
import type { JsonRewriting } from '../core/rewrite-json.ts'
import { isSecretKey, isSecretNumberKey, SECRET_WORD } from '../core/sensitive-forms.ts'
import { openValueFinder } from './redacted-values.ts'
import type { Redacted, Redaction } from './redaction.ts'
import { openStandIns } from './stand-ins.ts'

/** Takes values out of the texts of one row; equal values have one stand-in all over the row. */
export interface TextRedactor {
  /** A text of words, or of a JSON object or list, which it stays. */
  redactText(text: string): string
  /** How many values were taken out, by class. */
  readonly counts: ReadonlyMap<Redacted, number>
  /** Whether the patterns of the project took too many steps to look at all texts. */
  isOver(): boolean
}

/** Returns a function that opens the redactor of a row. */
export function openTextRedactors(asked: readonly Redacted[], redaction: Redaction) {
  const { find, stays } = openValueFinder(asked, redaction)
  const hasSecrets = asked.includes('secret')
  const hasPatterns = redaction.patterns.length > 0

  return (): TextRedactor => {
    const steps = { left: MAX_STEPS }
    const standIns = openStandIns()
    const rewriting: JsonRewriting = {
      name: redactText,
      string(value, member) {
        if (!hasSecrets || !isSecretKey(member)) return redactText(value)
        return value === '' || stays(value) ? value : standIns.take('secret', value)
      },
      number(number, member) {
        if (hasSecrets && isSecretNumberKey(member) && !stays(number)) {
          return standIns.take('secret', number)
        }
        // No shorter number is a value of a class.
        return hasPatterns || number.length >= CARD_DIGITS ? redactText(number) : number
      },
    }
    function redactText(text: string): string {
      if (DATA_URI.test(text)) return text
      const values = find(text, steps)
      if (JSON_START.test(text) && (values.length > 0 || mayHide(text))) {
        if (parseJson(text) !== undefined) return rewriteJson(text, rewriting)
      }
      let redacted = ''
      let at = 0
      for (const { class: name, start, end } of values) {
        redacted += text.slice(at, start) + standIns.take(name, text.slice(start, end))
        at = end
      }
      return redacted + text.slice(at)
    }
    /** Whether a text of JSON may hold values that only its members and their strings show. */
    function mayHide(text: string) {
      return ESCAPE.test(text) || (hasSecrets && SECRET_WORD.test(text))
    }
    return {
      redactText,
      counts: standIns.counts,
      isOver: () => steps.left < 0,
    }
  }
}

/** Other escapes than those that stand between words. */
const ESCAPE = /\\[^nrt"]/
const JSON_START = /^\s*[[{]/
/** Contents of files: their characters are no words. */
const DATA_URI = /^data:[\w/.+;=-]{0,200};base64,[\w+/=]*$/
/** The shortest number that is a value of a class. */
const CARD_DIGITS = 13
/** At 20 ns a step, which they take at worst, some 20 s. */
const MAX_STEPS = 2 ** 30
