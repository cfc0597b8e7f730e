import type { Maker } from './maker.ts'

/**
 * Skills with versions, files of text and of bytes, assignments and a deleted one.
 * @returns the name and content hash of one that traces may name
 */
export async function makeSkills(maker: Maker, project: string) {
  const { post, put, service, key } = maker
  const { content_hash: hash } = await post('/skills', {
    name: 'refunds',
    display_name: 'Refunds “fast”',
    body_markdown: '# Refunds\n\nAsk for the order first.',
    category: 'service',
    trigger_phrases: ['money back', 'refund'],
    frontmatter: { metadata: { owner: 'team \u{1F4B8}' }, 'argument-hint': '[order]' },
    eval_yaml_text: 'cases: []\n',
    change_summary: 'first',
  })
  await post('/skills/refunds/attachments', {
    path: 'scripts/run.sh',
    content: 'echo done\n',
    mode: '0755',
  })
  await put('/skills/refunds', { body_markdown: '# Refunds\n\nAsk for the order, then pay.' })
  const content_base64 = Buffer.from([0, 255, 0xd8, 0x00, 0x0a]).toString('base64')
  await post('/skills/refunds/attachments', { path: 'images/seal.bin', content_base64 })
  await post('/skills/refunds/attachments', { path: 'notes.txt', content: 'two\r\nlines\\' })
  await post('/skills', { name: 'triage', body_markdown: 'Sort what comes in.' })
  await post('/skills', { name: 'gone', body_markdown: 'Not for long.' })
  await post('/skills/refunds/assign', { agent_name: 'shop' })
  await post('/skills/refunds/assign', { agent_name: 'clerk', version: 1, project })
  await post('/skills/triage/assign', { agent_name: 'clerk', project })
  await service.client(key).delete('/skills/gone')
  return { name: 'refunds', hash: String(hash) }
}
