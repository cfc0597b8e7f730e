import { functionTool, LARGE_THEN_SMALL, pick } from './agent.ts'
import type { DemoAgent, Outcome } from './agent.ts'
import type { Recorder } from './recorder.ts'

export const sqlAgent: DemoAgent = {
  name: 'sql-agent',
  system:
    'You answer questions about the sales database. Table orders: id, region, month (1 to 12), total. Query it with run_query and answer in one sentence.',
  tools: [functionTool('run_query', 'Run one SELECT statement.', ['sql'])],
  models: LARGE_THEN_SMALL,
  play,
  followUp,
}

/** Somebody asks for a figure of a region and month. */
function play(record: Recorder, no: number, outcome: Outcome, variant: number) {
  const { region, month, count, average } = figuresOf(no)
  const opening = pick(OPENINGS, variant)
  record.user(
    `How many orders did we have in ${region} in month ${month}, and what was their mean total?`,
  )
  if (outcome === 'hasty') {
    return record.agent(
      `${opening} It was probably around ${count * 3} orders with a mean total near $50.`,
    )
  }
  const where = `region = '${region}' and month = ${month}`
  const query = (sql: string, result: object, failed = false) => {
    record.agent(opening, { name: 'run_query', args: { sql }, result, failed })
  }
  if (outcome === 'recovered') {
    const error = 'column "area" does not exist'
    query(`select count(*), avg(total) from orders where area = '${region}'`, { error }, true)
  }
  if (outcome === 'wrong') {
    query(
      `select count(*), avg(total) from orders where month = ${month} or region = '${region}'`,
      {
        rows: [[count * 9, average + 11]],
      },
    )
    return record.agent(
      `${region} had ${count * 9} orders in month ${month}, $${average + 11} each on average.`,
    )
  }
  query(`select count(*), avg(total) from orders where ${where}`, { rows: [[count, average]] })
  if (outcome === 'broken off') return
  record.agent(`${region} had ${count} orders in month ${month}, $${average} each on average.`)
}

function followUp(record: Recorder, no: number) {
  const { region, month, count, average } = figuresOf(no)
  record.user('And how much is that in total?')
  record.agent(`The orders of ${region} in month ${month} came to $${count * average}.`)
}

function figuresOf(no: number) {
  return {
    region: pick(REGIONS, no),
    month: 1 + (Math.floor(no / REGIONS.length) % 12),
    count: 120 + ((no * 53) % 700),
    average: 20 + ((no * 17) % 90),
  }
}

const REGIONS = ['Alba', 'Borea', 'Cintra', 'Dorne', 'Esk', 'Fjell', 'Garda']
const OPENINGS = ['Let me query that.', 'I will look.', 'One moment.', 'Counting the orders.']
