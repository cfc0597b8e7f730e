import { publicFrontmatter } from '../skill-frontmatter.ts'
import type { Frontmatter } from '../skill-frontmatter.ts'
import { findCharacters } from './characters.ts'
import { COMMAND_RULES } from './commands.ts'
import {
  describeBinary,
  findBlobs,
  findCredentials,
  isNamedAsPicture,
  kindOf,
  readText,
} from './contents.ts'
import type { NamedFile } from './contents.ts'
import { findExfiltration } from './exfiltration.ts'
import { gatherFindings } from './finding.ts'
import type { Gathering, Hit, Scan } from './finding.ts'
import {
  CONCEALMENT_RULES,
  findBroadTools,
  findManyTriggers,
  HEADER_CONCEALMENT_RULES,
  INJECTION_RULES,
  TRIGGER_RULES,
} from './instructions.ts'
import { LINK_RULES } from './links.ts'
import { BODY_PATH, prepareText } from './scanned-text.ts'
import type { ScannedText } from './scanned-text.ts'
import { findWords } from './word-rule.ts'

/** Raised with every change of a rule: what an earlier one has scanned is then scanned again. */
export const SCANNER_VERSION = 1

/** What is looked through of a version, beside its files. */
export interface ScannedSkill {
  readonly name: string
  readonly description: string
  readonly trigger_phrases: readonly string[]
  readonly frontmatter: Readonly<Record<string, unknown>>
  readonly eval_yaml: string | null
  readonly body: string
  readonly change_summary: string | null
  /** What is public of it, where that was written before. */
  readonly published?: Pick<ScannedSkill, 'description' | 'frontmatter' | 'eval_yaml'> | null
}

/** A scan of one version: its files are added one after another, and dropped when they were looked at. */
export interface RunningScan {
  /** @param content of at most a MiB, which takes less than a second */
  addFile(file: NamedFile, content: Uint8Array): void
  finish(): Scan
}

/** Looks through a version of a skill for what would harm who installs it. */
export function startScan(skill: ScannedSkill): RunningScan {
  const gathering = gatherFindings()
  scanHeader(gathering, skill)
  if (skill.published) scanHeader(gathering, { name: '', trigger_phrases: [], ...skill.published })
  scanSaid(gathering, prepareText('change_summary', skill.change_summary ?? ''))
  scanText(gathering, prepareText(BODY_PATH, skill.body))
  return {
    addFile: (file, content) => scanFile(gathering, file, content),
    finish: () => gathering.finish(),
  }
}

/** Looks through what is said of a skill where it is listed, such as who made it. */
export function scanListing(said: string): Scan {
  const gathering = gatherFindings()
  scanSaid(gathering, prepareText('listing', said))
  return gathering.finish()
}

/** What is said of a skill beside its body: what agents read before they choose it, and its evaluation. */
function scanHeader(
  gathering: Gathering,
  { name, description, ...skill }: Omit<ScannedSkill, 'body' | 'change_summary'>,
) {
  const described = prepareText('description', description)
  const phrases = prepareText('trigger_phrases', skill.trigger_phrases.join('\n'))
  const tools = prepareText('allowed-tools', textOf(skill.frontmatter['allowed-tools']))
  const others = prepareText('frontmatter', publicTextOf(skill.frontmatter))
  for (const text of [prepareText('name', name), described, phrases, tools, others]) {
    scanSaid(gathering, text)
  }
  gathering.add(described, findWords(described, TRIGGER_RULES))
  gathering.add(phrases, findManyTriggers(phrases, skill.trigger_phrases))
  gathering.add(tools, findBroadTools(tools))
  scanText(gathering, prepareText('eval_yaml_text', skill.eval_yaml ?? ''))
}

function scanSaid(gathering: Gathering, text: ScannedText) {
  gathering.add(text, findWords(text, HEADER_CONCEALMENT_RULES))
  gathering.add(text, findAnywhere(text))
}

function scanFile(gathering: Gathering, file: NamedFile, content: Uint8Array) {
  const kind = kindOf(content)
  // A program can begin like a picture, and a shell reads on behind what it does not know.
  if (kind === 'picture' && isNamedAsPicture(file)) return
  const text = prepareText(file.path, readText(content))
  scanText(gathering, text)
  const excerpt = describeBinary(kind, content)
  if (excerpt === undefined) return
  const at = { form: text.raw, offset: 0 }
  gathering.add(text, [{ code: 'opaque_blob', severity: 'warning', ...at, excerpt }])
}

function scanText(gathering: Gathering, text: ScannedText) {
  gathering.add(text, findAnywhere(text))
  gathering.add(text, findWords(text, CONCEALMENT_RULES))
}

function* findAnywhere(text: ScannedText): Generator<Hit> {
  yield* findCredentials(text)
  yield* findWords(text, COMMAND_RULES)
  yield* findExfiltration(text)
  yield* findWords(text, LINK_RULES)
  yield* findCharacters(text)
  yield* findWords(text, INJECTION_RULES)
  yield* findBlobs(text)
}

/** As clients write a list: a text, or a list of texts. */
function textOf(value: unknown): string {
  return (Array.isArray(value) ? value : [value])
    .filter((part) => typeof part === 'string')
    .join(' ')
}

/** What others are shown of a frontmatter, a line an entry, but for the tools. */
function publicTextOf(frontmatter: Frontmatter): string {
  return Object.entries(publicFrontmatter(frontmatter))
    .filter(([key]) => key !== 'allowed-tools')
    .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
    .join('\n')
}
