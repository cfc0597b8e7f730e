import { markdownTable, plainMarkdown } from '../core/markdown.ts'
import { order } from '../core/order.ts'
import { cardFrontMatter } from './card-front-matter.ts'
import type { CardFacts } from './card-facts.ts'
import { limitsOf } from './card-limits.ts'
import { publicRecipe } from './public-recipe.ts'
import { SPLITS } from './recipe.ts'

/**
 * The card of a version: Markdown with a front matter that dataset hubs read. It says where the rows
 * come from and what was done to them, and nothing of what they say. The same facts give the same bytes.
 */
export function cardOf(facts: CardFacts): string {
  const sections = [
    [`# ${plainMarkdown(facts.dataset_name)} v${facts.version_number}`, ...overview(facts)],
    section('Splits', splits(facts)),
    section('Filters and options', recipe(facts)),
    section('Verdicts', verdicts(facts)),
    section('Policies that decided', policies(facts)),
    section('Agent versions', manifests(facts)),
    section('Scores', scores(facts)),
    section('Left out', counted('Reason', 'Count', facts.dropped_counts)),
    section('Left out of messages', counted('What', 'Messages', facts.losses)),
    section('Duplicates', [DEDUPE_SENTENCES[facts.recipe.options.dedupe]]),
    section('Redaction', redaction(facts)),
    section('Lengths of pairs', lengths(facts)),
    section('Warnings', warnings(facts)),
    section('Known limits', listed(limitsOf(facts))),
  ]
  const body = sections.filter((lines) => lines.length > 0).map((lines) => lines.join('\n'))
  return `${cardFrontMatter(facts)}\n${body.join('\n\n')}\n`
}

function overview({ recipe: { options }, ...facts }: CardFacts) {
  return [
    '',
    ...markdownTable(
      ['', ''],
      [
        ['Type', `${facts.dataset_type}: ${TYPE_WORDS[facts.dataset_type]}`],
        ['Format', options.format],
        ['Rows', facts.row_count],
        ['Tokens', `about ${facts.token_estimate}`],
        ['Version', code(facts.version_id)],
        ['Content hash', code(facts.content_hash)],
        ['Built', facts.ready_at.toISOString()],
        ['License', plainMarkdown(facts.license)],
      ],
    ),
  ]
}

function splits({ split_counts: counts, recipe: { split, seed } }: CardFacts) {
  const rows = SPLITS.map((name) => [name, counts[name], split[name]] as const)
  return [
    ...markdownTable(['Split', 'Rows', 'Fraction asked for'], rows),
    '',
    `Tasks, sessions and replays of one trace are in one split, dealt by their hash with seed ${seed}.`,
  ]
}

function recipe(facts: CardFacts) {
  const { filters, options } = publicRecipe(facts.recipe)
  return ['```json', JSON.stringify({ filters, options }, null, 2), '```']
}

function verdicts({ composition }: CardFacts) {
  return counted('Verdict', 'Rows', composition?.verdicts ?? {})
}

function policies({ policy: { decision_policies: all } }: CardFacts) {
  return markdownTable(
    ['Agent', 'Policy version', 'Traces'],
    // The policy of no agent is that of the project.
    all.map(({ agent_name, version, traces }) => [
      plainMarkdown(agent_name) || 'all',
      version,
      traces,
    ]),
  )
}

function manifests({ manifests: all, manifest_count: count }: CardFacts) {
  const table = markdownTable(
    ['Agent', 'Version', 'Label', 'Manifest'],
    all.map(({ agent_name, version_number, display_label, manifest_hash }) => [
      plainMarkdown(agent_name),
      `v${version_number}`,
      plainMarkdown(display_label ?? ''),
      code(manifest_hash),
    ]),
  )
  return count > all.length ? [...table, '', `And ${count - all.length} further ones.`] : table
}

function scores({ composition }: CardFacts) {
  return markdownTable(
    ['Score', 'Traces'],
    (composition?.scores ?? []).map(({ name, traces }) => [plainMarkdown(name), traces]),
  )
}

function redaction({ redaction: done }: CardFacts) {
  if (!done) return ['Nothing was redacted.']
  return [`${done.rows} rows were changed.`, '', ...counted('Class', 'Values', done.counts)]
}

function lengths({ composition }: CardFacts) {
  const ratio = composition?.length_ratio ?? null
  if (ratio === null) return []
  return [
    `Chosen turns are on average ${Math.exp(ratio).toFixed(2)} times as long as rejected ones (mean log ratio ${ratio.toFixed(3)}).`,
  ]
}

function warnings({ warnings: all }: CardFacts) {
  return listed(all.map(({ code: word, message }) => `${code(word)}: ${plainMarkdown(message)}`))
}

function section(title: string, lines: readonly string[]) {
  return lines.length === 0 ? [] : [`## ${title}`, '', ...lines]
}

function counted(what: string, unit: string, counts: Readonly<Record<string, number>>) {
  const rows = Object.entries(counts).sort(([a], [b]) => order(a, b))
  return markdownTable(
    [what, unit],
    rows.map(([name, n]) => [plainMarkdown(name), n]),
  )
}

function listed(sentences: readonly string[]) {
  return sentences.map((sentence) => `- ${sentence}`)
}

/** For words of our own making. */
function code(word: string) {
  return `\`${word}\``
}

const TYPE_WORDS = {
  sft: 'conversations to learn from',
  dpo: 'pairs of a better and a worse turn',
  kto: 'single turns, each good or bad',
} as const
const DEDUPE_SENTENCES = {
  exact: 'Of rows with the same text the best stays.',
  near: 'Of rows with the same or nearly the same text the best stays.',
  none: 'Rows with the same text are all there.',
} as const
