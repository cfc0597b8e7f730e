/** The block of instructions that offers skills to a model; empty where there are none. */
export function promptFragment(
  skills: readonly { readonly name: string; readonly description: string }[],
): string {
  if (skills.length === 0) return ''
  // Descriptions are their authors': on a line of its own, none can pass for another skill.
  const lines = skills.map(({ name, description }) => `- ${name}: ${oneLine(description)}`)
  return [HEAD, ...lines].join('\n')
}

function oneLine(text: string) {
  return text.trim().replace(/\s+/g, ' ')
}

const HEAD = 'These skills are available. Read the body of a skill before you do what it is for.'
