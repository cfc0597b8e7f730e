import { functionTool, LARGE_THEN_SMALL, pick } from './agent.ts'
import type { DemoAgent, Outcome } from './agent.ts'
import type { Recorder } from './recorder.ts'

export const supportAgent: DemoAgent = {
  name: 'support-agent',
  system:
    'You are the support agent of a web shop. Look an order up before you say anything about it. Refund only orders that came damaged or more than three days late. Be short and friendly.',
  tools: [
    functionTool('get_order', 'Look up an order.', ['order_id']),
    functionTool('refund_order', 'Refund an order in full.', ['order_id', 'reason']),
  ],
  models: LARGE_THEN_SMALL,
  play,
  followUp,
}

/** A customer asks for their money back. */
function play(record: Recorder, no: number, outcome: Outcome, variant: number) {
  const order = orderOf(no)
  const { order_id, customer, item, amount } = order
  const isDue = order.state === 'damaged' || order.days_late > 3
  const greeting = pick(GREETINGS, variant)
  record.user(
    `Hi, ${customer} here. My order ${order_id} (${item}) ${COMPLAINTS[order.state]} Can I have my money back?`,
  )
  if (outcome === 'hasty') {
    const claim = isDue ? 'cannot be refunded, all sales are final' : 'is refunded already'
    return record.agent(`${greeting} Order ${order_id} ${claim}.`)
  }
  const lookup = { name: 'get_order', args: { order_id } }
  if (outcome === 'recovered') {
    record.agent('Let me see.', { ...lookup, result: { error: 'timeout' }, failed: true })
  }
  record.agent(`Let me look up order ${order_id}.`, { ...lookup, result: order })
  if (outcome === 'broken off') return
  if (outcome === 'wrong') {
    const claim = isDue
      ? 'we cannot give any money back, you could wait and see, or sell it on'
      : 'I have just refunded all of it to your card, there is nothing to do'
    return record.agent(`${greeting} For the ${item}, ${customer}, ${claim}.`)
  }
  if (!isDue) {
    return record.agent(
      `${greeting} The ${item} is ${order.days_late} days late, ${customer}, and should come tomorrow. We refund after three.`,
    )
  }
  record.agent(`${greeting} That is due a refund.`, {
    name: 'refund_order',
    args: { order_id, reason: order.state },
    result: { refunded: true, amount },
  })
  record.agent(
    `I have refunded $${amount} for the ${item}, ${customer}. It takes three to five days.`,
  )
}

function followUp(record: Recorder, no: number) {
  const { order_id, customer, item, quantity } = orderOf(no)
  record.user(`Thanks. And how many pieces was that order?`)
  record.agent(`Order ${order_id} is for ${quantity} x ${item}, ${customer}.`)
}

function orderOf(no: number) {
  const state = pick(STATES, no)
  return {
    order_id: `A-${10_000 + no * 37}`,
    customer: pick(CUSTOMERS, no),
    item: pick(ITEMS, no * 5 + Math.floor(no / 7)),
    state,
    days_late: state === 'damaged' ? 0 : (no * 7) % 11,
    quantity: 1 + (no % 4),
    amount: 15 + ((no * 13) % 180),
  }
}

const STATES = ['damaged', 'late', 'lost'] as const
const COMPLAINTS = {
  damaged: 'arrived broken.',
  late: 'is late.',
  lost: 'has not arrived, I think it is lost.',
}
const GREETINGS = ['Thanks for waiting!', 'Here is how it stands.', 'All checked.', 'Right away.']
const CUSTOMERS = 'Ada Ben Chloe Dmitri Elif Farid Grace Hana Igor Jun Kofi Lena Mateo'.split(' ')
const ITEMS = 'desk lamp,rain jacket,coffee grinder,bike light,notebook,tent,headphones'.split(',')
