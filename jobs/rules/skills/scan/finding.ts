import type { Band } from '../skill.ts'
import type { Form, ScannedText } from './scanned-text.ts'

export type FindingCode =
  | 'live_credential'
  | 'fetch_execute'
  | 'decode_execute'
  | 'reverse_shell'
  | 'exfiltration'
  | 'metadata_service'
  | 'destructive_command'
  | 'bidi_override'
  | 'bidi_isolate'
  | 'zero_width'
  | 'homoglyph'
  | 'broad_tools'
  | 'trigger_abuse'
  | 'injection'
  | 'opaque_blob'
  | 'short_link'
  | 'raw_ip_url'

export interface Finding {
  readonly code: FindingCode
  readonly severity: 'critical' | 'warning'
  /** Of a file of the version, SKILL.md for the body; or the member of the skill, such as `description`. */
  readonly path: string
  /** From 1; 1 for a binary file. */
  readonly line: number
  /** At most 80 characters, with values in it that are personal or secret replaced. */
  readonly excerpt: string
  /** It would be critical if it were no example. */
  readonly downgraded: boolean
}

/** What a rule has found. A rule that finds a line twice has found it once. */
export interface Hit {
  readonly code: FindingCode
  readonly severity: 'critical' | 'warning'
  readonly form: Form
  /** In the form's text. */
  readonly offset: number
  /** Instead of the text around the offset. */
  readonly excerpt?: string
}

export interface Scan {
  readonly band: Exclude<Band, 'unreviewed'>
  /** Of all findings, each once, sorted. */
  readonly reason_codes: FindingCode[]
  /** The first hundred, critical ones first. */
  readonly findings: Finding[]
  /** Of all. */
  readonly finding_count: number
}

/** Gathers what the rules find in the texts of one version. */
export interface Gathering {
  add(text: ScannedText, hits: Iterable<Hit>): void
  finish(): Scan
}

export function gatherFindings(): Gathering {
  const codes = new Set<FindingCode>()
  const kept = { critical: [] as Finding[], warning: [] as Finding[] }
  const counts = { critical: 0, warning: 0 }

  function take(text: ScannedText, hit: Hit, line: number) {
    const { code, form, offset, excerpt } = hit
    const isShown = text.isExample(line) && !ALWAYS_CRITICAL.has(code)
    if (isShown && hit.severity === 'warning') return
    const severity = isShown ? 'warning' : hit.severity
    codes.add(code)
    counts[severity]++
    if (kept[severity].length >= MAX_KEPT) return
    const shown = { excerpt: excerpt ?? form.excerptAt(offset), downgraded: isShown }
    kept[severity].push({ code, severity, path: text.path, line, ...shown })
  }

  return {
    add(text, hits) {
      const lines = new Map<FindingCode, Set<number>>()
      for (const hit of hits) {
        const line = hit.form.lineAt(hit.offset)
        const seen = lines.get(hit.code) ?? new Set()
        lines.set(hit.code, seen)
        if (!seen.has(line)) take(text, hit, line)
        seen.add(line)
      }
    },
    finish: () => ({
      band: counts.critical > 0 ? 'blocked' : counts.warning > 0 ? 'caution' : 'passed',
      reason_codes: [...codes].sort(),
      findings: [...kept.critical, ...kept.warning].slice(0, MAX_KEPT),
      finding_count: counts.critical + counts.warning,
    }),
  }
}

/** What is dangerous, or given away, however it is shown. */
const ALWAYS_CRITICAL: ReadonlySet<FindingCode> = new Set([
  'reverse_shell',
  'bidi_override',
  'live_credential',
  'metadata_service',
  'exfiltration',
])
const MAX_KEPT = 100
