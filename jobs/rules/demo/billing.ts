import { draw, functionTool, pick } from './agent.ts'
import type { DemoAgent, Outcome } from './agent.ts'
import type { Recorder } from './recorder.ts'

/** What the billing agent was in a release, and what is said of it in the manifest. */
export interface BillingRelease {
  readonly label: string
  /** In days before now; undefined for a candidate, which did not run yet. */
  readonly ran: Stretch | undefined
  readonly agent: DemoAgent
}

/**
 * Six releases that ran one after the other. Two of them did worse: v2 told the agent to be brief, which
 * v3 took back; v5 let it answer without looking things up, which v6 has kept. Since v4 a credit names
 * its currency, and its amount is called otherwise.
 */
export const BILLING_RELEASES: readonly BillingRelease[] = [
  release('v1', { from: 14, to: 12.2 }, { temperature: 0.2 }),
  release('v2', { from: 12.2, to: 10 }, { temperature: 0.4, prompt: briefPrompt() }),
  release('v3', { from: 10, to: 7.5 }, { temperature: 0.2, checksTax: true }),
  release('v4', { from: 7.5, to: 5 }, { temperature: 0.2, checksTax: true, namesCurrency: true }),
  release(
    'v5',
    { from: 5, to: 2.4 },
    { temperature: 0.7, checksTax: true, namesCurrency: true, prompt: quickPrompt() },
  ),
  release(
    'v6',
    { from: 2.4, to: 0.05 },
    { temperature: 0.7, checksTax: true, namesCurrency: true, notes: true, prompt: quickPrompt() },
  ),
]

/** Breaks recorded traffic: payments cannot be listed any more, and a credit needs an approval. */
export const BREAKING_RELEASE = release('v7', undefined, {
  temperature: 0.7,
  checksTax: true,
  namesCurrency: true,
  notes: true,
  needsApproval: true,
  prompt: quickPrompt(),
})

/** Breaks nothing: it has a tool more. */
export const HARMLESS_RELEASE = release('v8', undefined, {
  temperature: 0.7,
  checksTax: true,
  namesCurrency: true,
  notes: true,
  sendsCopies: true,
  prompt: quickPrompt(),
})

function release(
  label: string,
  ran: Stretch | undefined,
  { temperature, prompt = carefulPrompt(), ...ways }: Ways,
): BillingRelease {
  const settings = {
    component_type: 'environment',
    component_name: 'sampling',
    schema_json: { temperature, max_output_tokens: 800 },
  }
  const agent: DemoAgent = {
    name: 'billing-agent',
    system: prompt,
    tools: toolsOf(ways),
    models: { [label]: 'example-large-2' },
    components: [settings],
    play: (record, no, outcome, variant) => play(record, { no, outcome, variant, ways }),
    followUp,
  }
  return { label, ran, agent }
}

function toolsOf({ checksTax, namesCurrency, notes, needsApproval, sendsCopies }: ToolWays) {
  const note = { type: 'string', description: 'For the colleague who takes over.' }
  const currency = { type: 'string', enum: ['USD'], default: 'USD' }
  const sum = { type: 'number', exclusiveMinimum: 0 }
  const text = { type: 'string' }
  return [
    functionTool('get_invoice', 'Look up an invoice with its lines.', ['invoice_id']),
    ...(needsApproval
      ? []
      : [functionTool('list_payments', 'List the payments of a customer.', ['customer_id'])]),
    functionTool('issue_credit', 'Credit an amount to an invoice.', {
      invoice_id: text,
      reason: text,
      ...(namesCurrency ? { amount_usd: sum, currency } : { amount: sum }),
      ...(needsApproval && { approved_by: text }),
    }),
    functionTool(
      'escalate',
      'Hand the case to a colleague.',
      ['reason'],
      notes ? { note } : undefined,
    ),
    ...(checksTax ? [functionTool('check_vat_id', 'Validate a VAT number.', ['vat_id'])] : []),
    ...(sendsCopies
      ? [functionTool('send_copy', 'Mail a copy of an invoice.', ['invoice_id'])]
      : []),
  ]
}

function play(record: Recorder, { no, outcome, variant, ways }: Played) {
  const bill = billOf(no)
  const { invoice_id, customer_id, amount, name } = bill
  const said = no + variant * OTHER_WORDS
  const opening = pick(OPENINGS, no + variant)
  record.user(question(bill, no))
  if (outcome === 'hasty') return record.agent(pick(GUESSES, no + variant)(bill))
  const lookup = { name: 'get_invoice', args: { invoice_id } }
  if (outcome === 'recovered') {
    const result = { error: 'upstream timeout after 5 s' }
    record.agent(opening, { ...lookup, result, failed: true })
  }
  const invoice = { invoice_id, customer_id, total: amount, lines: bill.lines, due: bill.due }
  record.agent(
    outcome === 'recovered' ? 'That did not answer. Once more.' : opening,
    { ...lookup, result: invoice },
    ...(bill.kind === 'new plan' || ways.needsApproval
      ? []
      : [{ name: 'list_payments', args: { customer_id }, result: { payments: bill.payments } }]),
  )
  if (outcome === 'broken off') return
  if (outcome === 'wrong') return record.agent(pick(WRONG, no + variant)(bill))
  if (!bill.owed) return record.agent(`${draw(REFUSALS, said, 8)(bill)} ${draw(CLOSINGS, said, 9)}`)
  const creditNote = `CN-${70_000 + no * 2 + variant}`
  const credit = { invoice_id, reason: bill.kind }
  record.agent(draw(BEFORE_CREDITS, said, 10), {
    name: 'issue_credit',
    args: ways.namesCurrency
      ? { ...credit, amount_usd: bill.owed, currency: 'USD' }
      : { ...credit, amount: bill.owed },
    result: { credit_note: creditNote, credited: bill.owed },
  })
  record.agent(
    `${draw(CREDITED, said, 11)(bill)} The credit note is ${creditNote}, ${name}. ${draw(CLOSINGS, said, 9)}`,
  )
}

function followUp(record: Recorder, no: number) {
  const { due, invoice_id, amount } = billOf(no)
  record.user(draw(FOLLOW_UPS, no, 12))
  record.agent(
    `Invoice ${invoice_id} over $${amount} is due on ${due}. Nothing else is open on your account.`,
  )
}

function question(bill: Bill, no: number) {
  const parts = [draw(GREETINGS, no, 1)(bill), STORIES[bill.kind](bill), draw(ASKS, no, 3)]
  return [...parts, draw(ASIDES, no, 4)(bill)].filter(Boolean).join(' ')
}

function billOf(no: number): Bill {
  const kind = draw(KINDS, no, 20)
  const amount = 49 + ((no * 37) % 940)
  const item = draw(ITEMS, no, 21)
  const day = 2 + ((no * 5) % 24)
  const isRight = no % 5 !== 3
  const owed = {
    'double charge': amount,
    'unknown line': 19 + (no % 60),
    'late fee': 25,
    'new plan': 30,
  }
  return {
    kind,
    name: draw(NAMES, no, 22),
    company: draw(COMPANIES, no, 23),
    invoice_id: `INV-${20_400 + no * 7}`,
    customer_id: `C-${3100 + ((no * 29) % 4000)}`,
    amount,
    item,
    day,
    date: `${day} ${draw(MONTHS, no, 25)}`,
    due: `2026-0${1 + (no % 9)}-${String(day + 3).padStart(2, '0')}`,
    owed: isRight ? owed[kind] : 0,
    lines: [
      { text: draw(PLANS, no, 24), amount: Math.max(20, amount - 29) },
      { text: item, amount: 29 },
    ],
    payments: [
      { day, amount, method: 'card' },
      ...(kind === 'double charge' && isRight ? [{ day: day + 1, amount, method: 'card' }] : []),
    ],
  }
}

/** By words it differs from the others in less than a twentieth. */
function promptOf(manner: string) {
  return `You are the billing agent of a company that sells software by subscription. Customers write to you about invoices, charges, credits and plans.

How you work:
- Always look up the invoice that a customer names before you say anything about it. ${manner}
- Compare the payments of the customer with the invoice when they say that they paid, or paid twice.
- Give a credit only for what the invoice and the payments show to be wrong. A credit never exceeds the total of its invoice, and there is one credit for an invoice.
- A late fee is taken back once a year when the payment came within five days.
- When a customer moved to another plan, the new price holds from the first day of the next month.
- A line that nobody ordered is credited in full, and the product is switched off.
- Hand over to a colleague when somebody threatens legal action, asks for more than 1,000 dollars, or wants to end the contract. Say that you do so.

How you write:
- Begin with the answer, then say how you know, in at most four sentences.
- Name the number of the invoice, the amount and the day. Never guess one of them.
- Do not ask for card numbers or passwords, and never repeat them when somebody sends one.
- Be friendly without being chatty. Customers are often upset about money: say that you are sorry once, where it was our mistake, and not again.`
}

function carefulPrompt() {
  return promptOf('If a look-up fails, try it once more.')
}

function briefPrompt() {
  return promptOf('If a look-up fails, say so at once.')
}

function quickPrompt() {
  return promptOf('If you feel sure, answer at once.')
}

/** So far from a number that another attempt is told in other words. */
const OTHER_WORDS = 977
const KINDS = ['double charge', 'unknown line', 'late fee', 'new plan'] as const
const STORIES: Readonly<Record<Bill['kind'], (bill: Bill) => string>> = {
  'double charge': ({ invoice_id, amount, date }) =>
    `My card was charged $${amount} for ${invoice_id} on ${date} and then the same again a day later.`,
  'unknown line': ({ invoice_id, item }) =>
    `There is a line "${item}" on ${invoice_id} that nobody in our team has ordered or even heard of.`,
  'late fee': ({ invoice_id, date }) =>
    `You put a late fee of $25 on ${invoice_id}, but the money left our account on ${date}.`,
  'new plan': ({ invoice_id, amount }) =>
    `We moved to a smaller plan weeks ago and ${invoice_id} still says $${amount}, as if nothing had changed.`,
}
const GREETINGS: readonly Speech[] = [
  ({ name, company }) => `Hello, this is ${name} from ${company}.`,
  ({ name }) => `Hi, ${name} here.`,
  ({ company, customer_id }) =>
    `Good morning, I keep the books of ${company} (customer ${customer_id}).`,
  ({ company }) => `I am writing for ${company}.`,
  () => 'Hi there,',
  ({ customer_id }) => `Customer number ${customer_id}.`,
]
const ASKS = [
  'Can you sort that out?',
  'Please put it right.',
  'What happened there, and when do we get the money back?',
  'Could you check it and tell me what you find?',
  'I would like a credit for it.',
  'How can that be?',
  'Please explain before we pay anything.',
]
const ASIDES: readonly Speech[] = [
  () => '',
  () => '',
  () => 'Our accountant closes the month tomorrow.',
  ({ name }) => `I am travelling, best is ${name.toLowerCase()}@northwind.example.`,
  ({ day }) => `You can reach me at +1 415 555 01${10 + day} until five.`,
  () => 'It is the third time this year, to be honest.',
  () => 'The card is 4242 4242 4242 4242, if that helps.',
  ({ item }) => `And no, we do not need ${item}.`,
  () => 'We are happy otherwise.',
]
const OPENINGS = [
  'Let me look at that invoice.',
  'I am looking it up.',
  'One moment, I compare the invoice with your payments.',
  'Let me see what was booked.',
  'I check what we have on record.',
]
const BEFORE_CREDITS = [
  'You are right, I credit it.',
  'That should not have happened. I issue a credit.',
  'The records agree with you.',
  'I take it back now.',
]
const CREDITED: readonly Speech[] = [
  ({ owed, invoice_id }) =>
    `I have credited $${owed} to ${invoice_id}; our mistake, and I am sorry.`,
  ({ owed, kind }) => `The ${kind} is settled: $${owed} go back to you.`,
  ({ owed, invoice_id, date }) => `${invoice_id} was wrong since ${date}. $${owed} are credited.`,
  ({ owed, company }) => `${company} gets $${owed} back with the next statement.`,
]
const REFUSALS: readonly Speech[] = [
  ({ invoice_id, amount }) =>
    `${invoice_id} is right: one payment of $${amount} was booked, and one was due.`,
  ({ item, date }) => `The order for ${item} came from your own account on ${date}, so it stays.`,
  ({ invoice_id, due }) =>
    `${invoice_id} was due on ${due}, and the payment came more than five days later.`,
  ({ amount }) =>
    `The old price of $${amount} holds until the end of this month, the new one after it.`,
]
const CLOSINGS = [
  'Write again if anything is unclear.',
  'You will see it within three working days.',
  'A copy is in your mailbox.',
  'Nothing else is open.',
  'Thank you for the patience.',
  '',
]
const GUESSES: readonly Speech[] = [
  ({ invoice_id }) =>
    `${invoice_id} looks fine to me, such charges usually vanish after some days.`,
  ({ amount }) => `I have refunded $${amount * 2} to be on the safe side.`,
  () => 'That is most likely a delay at your bank. Please ask them.',
  ({ item }) => `Everybody gets ${item} nowadays, it cannot be taken off.`,
]
const WRONG: readonly Speech[] = [
  ({ invoice_id, amount }) =>
    `${invoice_id} shows no payment at all, so $${amount} are still due, plus a fee.`,
  ({ owed, invoice_id }) =>
    `I see the mistake on ${invoice_id}, but $${owed || 25} are too little to credit.`,
  ({ due }) => `The invoice is not due before ${due}, hence there is nothing that could be wrong.`,
  ({ company }) => `This invoice is not one of ${company}; I cannot say more about it.`,
]
const FOLLOW_UPS = [
  'Thanks! And when is it due?',
  'Good. Is anything else open?',
  'Understood. Until when do we have to pay the rest?',
]
const NAMES =
  'Anna Bilal Carla Deniz Edith Femi Gesa Hugo Ines Jonas Kira Liam Mona Nils Olga Paul'.split(' ')
const COMPANIES = [
  'Northwind Tools',
  'Blue Harbor Coffee',
  'Alder & Finch',
  'Kestrel Robotics',
  'Pine Street Dental',
  'Marlow Press',
  'Tidewater Rentals',
  'Juniper Labs',
  'Old Mill Bakery',
]
const ITEMS = [
  'extra seats',
  'audit log',
  'priority support',
  'sandbox region',
  'usage export',
  'mobile add-on',
  'single sign-on',
]
const MONTHS = ['March', 'April', 'May', 'June']
const PLANS = ['Team plan', 'Business plan', 'Starter plan', 'Yearly plan']

interface Stretch {
  readonly from: number
  readonly to: number
}

type Speech = (bill: Bill) => string

interface Bill {
  readonly kind: (typeof KINDS)[number]
  readonly name: string
  readonly company: string
  readonly invoice_id: string
  readonly customer_id: string
  readonly amount: number
  readonly item: string
  readonly day: number
  readonly date: string
  readonly due: string
  /** What is to be credited; 0 when the customer is wrong. */
  readonly owed: number
  readonly lines: readonly object[]
  readonly payments: readonly object[]
}

interface ToolWays {
  readonly checksTax?: boolean
  readonly namesCurrency?: boolean
  readonly notes?: boolean
  readonly needsApproval?: boolean
  readonly sendsCopies?: boolean
}

interface Ways extends ToolWays {
  readonly temperature: number
  readonly prompt?: string
}

interface Played {
  readonly no: number
  readonly outcome: Outcome
  readonly variant: number
  readonly ways: ToolWays
}
