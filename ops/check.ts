// Everything a change must pass, as `npm run check` and .ci/run do it: the checks, all at once, and
// whatever they found, the tests. The last line counts the checks and the assertions of the tests. The
// lines before it repeat what failed and tell which tests this machine could not run. With REQUIRE_ALL=1
// those have failed, but for what needs the history of the repository, which a copy of its files does not
// have.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'

const CHECKS = ['types', 'lint', 'format:check', 'dead-code', 'docs:check']

async function main() {
  const results = await Promise.all(CHECKS.map(runCheck))
  const failedChecks = CHECKS.filter((_, i) => !results[i])
  const { skipped, failures, ...tests } = await runTests()
  // Logs are often kept from their end only.
  for (const check of failedChecks) say(`${check} failed`)
  for (const line of failures) say(line)
  for (const test of skipped) say(`skipped: ${test}`)
  if (skipped.length > 0) say(`${skipped.length} skipped`)
  const passed = CHECKS.length - failedChecks.length + tests.passed
  const failed =
    failedChecks.length +
    tests.failed +
    (REQUIRE_ALL ? skipped.filter((test) => !NO_HISTORY.test(test)).length : 0)
  say(`${passed} passed, ${failed} failed`)
  process.exitCode = failed > 0 ? 1 : 0
}

/** Runs a script of package.json; says which, what it wrote, and whether it failed. */
async function runCheck(script: string) {
  const child = spawn('npm', ['run', '--silent', script], {
    stdio: ['ignore', 'pipe', 'pipe'],
    shell: ON_WINDOWS,
  })
  const [[code], ...output] = await Promise.all([
    once(child, 'close') as Promise<(number | null)[]>,
    text(child.stdout),
    text(child.stderr),
  ])
  say(`\n> ${script}\n${output.join('')}${code === 0 ? '' : `${script} failed`}`.trimEnd())
  return code === 0
}

/** Runs the tests and shows of their TAP output a line a file, and all of what failed. */
async function runTests() {
  say('\n> test')
  const child = spawn('npm', ['run', '--silent', 'test'], {
    stdio: ['inherit', 'pipe', 'inherit'],
    env: { ...process.env, TAP: '1' },
    shell: ON_WINDOWS,
  })
  const ended: Promise<(number | null)[]> = once(child, 'close')
  const { pass: passed, fail: failed, skipped, failures } = await readTap(child.stdout)
  const [code] = await ended
  // A run that failed without a failing assertion, or passed without any, is a failure as well.
  const sane = code === 0 ? passed > 0 && failed === 0 : failed > 0
  return { passed, failed: sane ? failed : failed + 1, skipped, failures }
}

/**
 * What the summary at the end of the output counts, which is all assertions, what was skipped, and the
 * first lines of what failed, each failure with its diagnosis.
 */
async function readTap(output: Readable) {
  const counts = { pass: 0, fail: 0 }
  const skipped: string[] = []
  const failures: string[] = []
  let inDiagnosis = false
  for await (const line of createInterface({ input: output })) {
    const summary = /^# \{ (total: .*) \}$/.exec(line)?.[1]
    if (summary) {
      for (const [, word, n] of summary.matchAll(/\b(pass|fail): (\d+)/g)) {
        counts[word as keyof typeof counts] = Number(n)
      }
    }
    const [, title, reason] = /^\s*ok \d+ - (.*) # SKIP ?(.*)$/.exec(line) ?? []
    if (title !== undefined) skipped.push(`${title}: ${reason || 'for no reason given'}`)
    const failure = /^\s*not ok /.test(line)
    if (failure || inDiagnosis || line.startsWith('ok ')) say(line)
    if ((failure || inDiagnosis) && failures.length < MAX_FAILURE_LINES) failures.push(line)
    inDiagnosis = failure || (inDiagnosis && !/^\s*\.\.\.$/.test(line))
  }
  return { ...counts, skipped, failures }
}

function say(line: string) {
  process.stdout.write(`${line}\n`)
}

/** No test may be skipped, but for this one reason. */
const REQUIRE_ALL = process.env['REQUIRE_ALL'] === '1'
const NO_HISTORY = /: this checkout has no history/
const MAX_FAILURE_LINES = 200
const ON_WINDOWS = process.platform === 'win32'

await main()
