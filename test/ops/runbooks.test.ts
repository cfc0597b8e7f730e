import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { commands } from '../../ops/commands.ts'

const PAIRS: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }
/** Functions, aggregations and words before a list of labels that the rules use. */
const FUNCTIONS = new Set(
  'absent by histogram_quantile ignoring increase label_replace max min on or rate sum unless'.split(
    ' ',
  ),
)

/** Of every series. */
const TARGET_LABELS = ['app', 'instance', 'part']
const UNLABELED = /\b(absent|max|min|sum)\b/

const runbooks = readFileSync('ops/docs/runbooks.md', 'utf8')
const alerts = readAlerts()
/** Pages of alerts are named by one word. */
const pages = [...runbooks.matchAll(/^## (\w+)$/gm)].map(([, name = '']) => name)

t.test('every alert has a page, and every page an alert', async (t) => {
  t.ok(alerts.length > 15, `${alerts.length} alerts`)
  t.same(pages.sort(), alerts.map(({ alert }) => alert).sort())
  for (const page of pages) {
    const text = runbooks.split(`\n## ${page}\n`)[1]?.split('\n## ')[0] ?? ''
    for (const part of ['Means', 'Look', 'Do'])
      t.ok(text.includes(`**${part}.** `), `${page}: ${part}`)
  }
})

t.test('every alert is a rule that Prometheus takes', async (t) => {
  t.same(alerts.flatMap(findFaults), [])
})

t.test('faults that are planted are found', async (t) => {
  const [alert] = alerts as [Alert]
  const planted: Partial<Record<keyof Alert, unknown>>[] = [
    { alert: 'not one word' },
    { expr: 'sum(up' },
    { expr: 'sume(up) > 0' },
    { for: '5 minutes' },
    { labels: { severity: 'panic' } },
    { annotations: { ...alert.annotations, summary: '{{ $labels.nothing }} is wrong' } },
    { expr: 'absent(up{part="api"} == 1)' },
    { expr: 'up == 0 or max(up) == 0' },
    { expr: 'sum by (queue) (up) == 0' },
    { annotations: { ...alert.annotations, runbook: 'ops/docs/runbooks.md#none' } },
    { fore: '5m' } as object,
  ]
  for (const change of planted) {
    t.ok(findFaults({ ...alert, ...change } as Alert).length > 0, JSON.stringify(change))
  }
})

t.test('every command of the runbooks is one, with options it has', async (t) => {
  const typed = [...runbooks.matchAll(/node ops\/admin\.ts ([^`\n#]+)/g)].map(([, words = '']) =>
    words.trim(),
  )
  t.ok(typed.length > 30, `${typed.length} commands`)
  t.same(
    typed.filter((words) => !isCommand(words)),
    [],
  )
  t.notOk(isCommand('queue burn NAME'))
  t.notOk(isCommand('queue pause NAME --loudly'))
})

/** @param words after the name of the program, with example values in the place of values */
function isCommand(words: string) {
  const command = commands.find(({ name }) => `${words} `.startsWith(`${name} `))
  if (!command) return false
  const known = Object.keys(command.options.describe().keys as object)
  const given = [...words.matchAll(/--([\w-]+)/g)].map(([, name = '']) => name)
  return given.every((name) => known.includes(name))
}

/** What Prometheus would refuse, and labels that its texts name without having them. */
function findFaults(rule: Alert): string[] {
  const { alert, expr, labels, annotations, for: pause = '0s', ...others } = rule
  const told = [...annotations.summary.matchAll(/\$labels\.(\w+)/g)].map(([, name = '']) => name)
  const bare = expr.replaceAll(/"[^"]*"/g, '""')
  const words = [...bare.matchAll(/\b([a-z_]\w*)\s*\(/g)].map(([, name = '']) => name)
  const results = expr.split(/\sor\s/).map(labelsOfResult)
  return [
    ...(/^\w+$/.test(alert) ? [] : ['name']),
    ...(isBalanced(bare) ? [] : ['brackets']),
    ...words.filter((word) => !FUNCTIONS.has(word)),
    ...(/^\d+[smh]$/.test(pause) ? [] : ['for']),
    ...(['page', 'ticket'].includes(labels.severity) ? [] : ['severity']),
    ...(annotations.runbook === `ops/docs/runbooks.md#${alert.toLowerCase()}` ? [] : ['runbook']),
    ...told.filter((label) => !results.every((labels) => labels.includes(label))),
    ...Object.keys(others),
  ]
}

/** The labels of what an expression gives: those it sets, and those its first aggregation keeps. */
function labelsOfResult(expr: string): string[] {
  const set = [...expr.matchAll(/"(\w+)", "[^"]*", "", ""\)/g)].map(([, name = '']) => name)
  const [, kept] = /\bby \(([^)]*)\)/.exec(expr) ?? []
  if (kept !== undefined) return [...set, ...kept.split(', ')]
  return UNLABELED.test(expr) ? set : [...set, ...TARGET_LABELS]
}

function isBalanced(expr: string) {
  let open = ''
  for (const [bracket] of expr.matchAll(/[()[\]{}]/g)) {
    if ('([{'.includes(bracket)) open += bracket
    else if (open.at(-1) === PAIRS[bracket]) open = open.slice(0, -1)
    else return false
  }
  return open === ''
}

function readAlerts() {
  const { groups } = parse(readFileSync('ops/deploy/alerts.yaml', 'utf8')) as {
    groups: { rules: Alert[] }[]
  }
  return groups.flatMap(({ rules }) => rules)
}

interface Alert {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly runbook: string }
}
