import type { Maker } from './maker.ts'

/** Evaluators, decision policies of a project and of an agent, and what is redacted, in two projects. */
export async function setRules({ post, put }: Maker, project: string) {
  await post('/evaluators', {
    name: 'says-thanks',
    display_name: 'Says “thanks”',
    type: 'contains',
    config: { text: 'thanks \\ "you"', case_sensitive: false },
    category: 'tone',
    threshold: 0.1,
  })
  await post('/evaluators', { type: 'regex', name: 'number', config: { pattern: '\\d+' }, project })
  await post('/evaluators', {
    name: 'judge',
    eval_type: 'llm_judge',
    agent_name: 'shop',
    prompt_template: 'Is it good?\n{output}',
    project,
  })
  await put('/decision-policy', { thresholds: { keep_at: 0.75 } })
  await put('/decision-policy', { thresholds: { keep_at: 0.72, drop_at: 0.15 } })
  await put('/decision-policy', { preset: 'strict', agent_name: 'clerk', project })
  await put('/redaction-settings', {
    patterns: [{ name: 'ticket', pattern: 'TCK-[0-9]{6}' }],
    keep: ['support@example.com'],
  })
  await put('/redaction-settings', { keep: ['+49 30 1234567'], project })
}
