import type { CardFacts } from './card-facts.ts'

/** What a reader of a card has to know that no count says, in sentences of Markdown. */
export function limitsOf({ dataset_type: type, recipe, redaction, split_counts }: CardFacts) {
  const { options } = recipe
  const usedSplits = Object.values(split_counts).filter((rows) => rows > 0).length
  const sentences = [
    'The rows are recorded runs of agents. No person read all of them.',
    'The number of tokens is an estimate: four characters of JSON a token.',
    TYPE_LIMITS[type],
    redaction
      ? 'Redaction knows values by their form. Names of people, and whatever has another form, are still there.'
      : 'Rows may hold personal data and secrets of whoever spoke with the agents.',
    'The ids of traces, sessions and tasks are as the agents gave them, also where those are names or addresses.',
  ]
  if (options.dedupe === 'near') {
    sentences.push('Nearly equal rows are found by an estimate of the words they share.')
  }
  if (options.rows === 'call') {
    sentences.push('Several rows come from one trace, and begin with the same messages.')
  }
  if (usedSplits > 1) {
    sentences.push('Splits keep tasks and sessions apart, but not users or subjects.')
  }
  return sentences
}

const TYPE_LIMITS = {
  sft: 'Only messages of weight 1 are to be learned. A trainer that does not read weights learns the masked ones too.',
  dpo: 'A pair is better and worse by the scores of whole traces, or by the word of a person.',
  kto: 'A row is good or bad by the scores of its whole trace.',
} as const
