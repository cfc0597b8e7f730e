import type { Hit } from './finding.ts'
import type { ScannedText } from './scanned-text.ts'
import type { WordRule } from './word-rule.ts'

/** Phrases that would have a model disobey whoever it works for. */
export const INJECTION_RULES: readonly WordRule[] = [
  {
    hints: ['ignore', 'disregard', 'forget', 'override'],
    pattern:
      /\b(?:ignore|disregard|forget|override)\s{1,4}(?:(?:all|any|every|of|the|your|my|these|those|other)\s{1,4}){0,4}(?:previous|prior|above|earlier|preceding|existing|system|initial|original|developer)\s{1,4}(?:\w{1,20}\s{1,4}){0,2}(?:instruction|prompt|rule|message|guideline|directive|constraint|polic)/gi,
  },
  {
    hints: ['you are now', 'mode'],
    pattern:
      /\byou are now (?:in )?(?:dan\b|an? (?:unrestricted|unfiltered|uncensored|jailbroken)|(?:developer|god|jailbreak|admin) mode|unrestricted|jailbroken)|\b(?:god|jailbreak|developer) mode (?:enabled|activated|on)\b/gi,
  },
  {
    hints: ['system prompt', 'instructions'],
    pattern:
      /\b(?:reveal|print|show|repeat|output|leak|send|disclose)\s{1,4}(?:\w{1,10}\s{1,4}){0,3}(?:system prompt|hidden instructions|initial instructions)/gi,
  },
  {
    hints: ['<|', '[inst]', '<<sys>>', '<system'],
    pattern:
      /<\|(?:im_start|im_end|system|endoftext)\|>|\[\/?inst\]|<<sys>>|<\/?system(?:-reminder)?>/gi,
  },
  {
    hints: ['bypass', 'disable', 'skip', 'circumvent', 'turn off'],
    pattern:
      /\b(?:bypass|disable|skip|circumvent|turn off)\s{1,4}(?:(?:all|any|the|your|its)\s{1,4}){0,3}(?:safety|guardrail|content filter|permission (?:prompt|check)|approval|confirmation|sandbox)|--dangerously-skip-permissions/gi,
  },
].map((rule) => ({ code: 'injection', severity: 'warning', ...rule }))

/** Phrases that keep something from the user. */
const CONCEALMENT: WordRule = {
  code: 'injection',
  severity: 'warning',
  hints: ['user', 'human', 'operator', 'anyone', 'secret', 'silent', 'covert'],
  pattern:
    /\b(?:(?:do not|don't|don’t|never|must not|without)\s{1,4}(?:ever\s{1,4})?(?:tell|inform|mention|reveal|notify|disclose|show|alert|let|telling|informing|mentioning|revealing|notifying|disclosing|showing|alerting|letting)\b[^.\n]{0,60}\b(?:user|human|operator|anyone)|(?:hide|conceal|keep)\b[^.\n]{0,40}\bfrom\s{1,4}(?:the\s{1,4})?(?:user|human|operator|anyone)|keep\s{1,4}(?:this|it|that)\s{1,4}(?:a\s{1,4})?secret|(?:secretly|silently|covertly)\s{1,4}(?:run|execute|send|upload|install|call|post|copy|collect|read|fetch|download|exfiltrate))\b/gi,
}

export const CONCEALMENT_RULES: readonly WordRule[] = [CONCEALMENT]
/** In a description nothing explains why; and every agent reads it before anybody chose the skill. */
export const HEADER_CONCEALMENT_RULES: readonly WordRule[] = [
  { ...CONCEALMENT, severity: 'critical' },
]

/** Descriptions that ask to be chosen for everything. */
export const TRIGGER_RULES: readonly WordRule[] = [
  {
    code: 'trigger_abuse',
    severity: 'warning',
    hints: ['always', 'every', 'any', 'all'],
    pattern:
      /\balways\s{1,4}(?:use|invoke|load|run|trigger|apply|activate|call|prefer|choose)\b|\b(?:every|any|all)\s{1,4}(?:(?:single|new|user|possible|kinds? of|types? of)\s{1,4}){0,2}(?:task|request|conversation|message|prompt|question|session|response|turn|quer(?:y|ie)|interaction)s?\b/gi,
  },
]

/** More phrases than a skill that is about one thing needs. */
export function* findManyTriggers(text: ScannedText, phrases: readonly string[]): Generator<Hit> {
  if (phrases.length <= MAX_PHRASES) return
  const excerpt = `${phrases.length} trigger phrases`
  yield { code: 'trigger_abuse', severity: 'warning', form: text.raw, offset: 0, excerpt }
}

/** All tools, all commands, or more tools than one thing needs. */
export function* findBroadTools(text: ScannedText): Generator<Hit> {
  // A tool with its restriction, `Bash(git log:*)`, is one.
  const tools = text.words.text.match(/[^\s,()]{1,200}(?:\([^)\n]{0,200}\))?/g) ?? []
  const broad = tools.find((tool) => /^(?:\*|bash\(\s{0,4}(?:\*|:\*|\*:\*)?\s{0,4}\))$/i.test(tool))
  if (broad === undefined && tools.length <= MAX_TOOLS) return
  const excerpt = broad ?? `${tools.length} tools`
  yield { code: 'broad_tools', severity: 'warning', form: text.raw, offset: 0, excerpt }
}

const MAX_PHRASES = 30
const MAX_TOOLS = 20
