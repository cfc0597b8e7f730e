// Finds the command that words name, reads its options, and runs it.
import { parseArgs } from 'node:util'
import { messageOf } from '../jobs/rules/core/error-message.ts'
import { isDatabaseAway, isPooled, openDatabase } from '../sql/core/db.ts'
import type { Sql } from '../sql/core/db.ts'
import { adminCommand } from './admin-command.ts'
import { commands } from './commands.ts'
import type { Command } from './command.ts'
import { readConfig } from './config.ts'
import type { Config } from './config.ts'
import { findDatabase } from './embedded.ts'
import { databaseError, doesNotAnswer } from './migrate.ts'
import { checkPatches } from './patches.ts'
import { sentenceOf } from './process.ts'
import { OperatorError } from './operator-error.ts'

/** What a process that runs a command writes, and the code it exits with. */
export interface Ended {
  /** 0 when it answered, 1 when it was refused, 2 when the words are no command. */
  readonly code: 0 | 1 | 2
  readonly stdout: string
  readonly stderr: string
}

/**
 * Runs the command that the words name.
 * @param words as they follow `ops/admin.ts`
 * @throws only for faults of the program
 */
export async function runCommandLine(
  words: readonly string[],
  environment = process.env,
): Promise<Ended> {
  try {
    checkPatches()
    const command = findCommand(words)
    const options = readOptions(command, words.slice(command.name.split(' ').length))
    const answer = await runCommand(command, options, readConfig(environment))
    return { code: 0, stdout: `${JSON.stringify(answer, null, 2)}\n`, stderr: '' }
  } catch (error) {
    if (error instanceof UsageError) {
      return { code: 2, stdout: '', stderr: `${error.message}\n\n${usage(error.command)}\n` }
    }
    const sentence = sentenceOf(error)
    if (sentence === undefined) throw error
    return { code: 1, stdout: '', stderr: `${sentence}\n` }
  }
}

/** The pool of a command, whose statements end after 30 s unless a pooler refuses the limit. */
export async function openCommandPool(databaseUrl: string): Promise<Sql> {
  // Where nothing answers, the command itself says so.
  const pooled = await isPooled(databaseUrl).catch(() => true)
  return openDatabase(databaseUrl, { max: 3, pooled })
}

function findCommand(words: readonly string[]) {
  const command = commands.find(({ name }) => `${words.join(' ')} `.startsWith(`${name} `))
  if (command) return command
  throw new UsageError(
    words.length > 0 ? `Unknown command: ${words.join(' ')}` : 'No command given',
  )
}

function readOptions(command: Command, words: string[]) {
  const { error, value } = command.options.validate(parseWords(command, words), {
    errors: { wrap: { label: false } },
  })
  if (error) throw new UsageError(`${command.name}: ${error.message}`, command)
  return value as object
}

function parseWords(command: Command, args: string[]) {
  const { name, options, positional } = command
  const keys = Object.entries((options.describe().keys ?? {}) as Record<string, { type: string }>)
  const named = keys.filter(([key]) => key !== positional)
  const flags = new Set(named.flatMap(([key, { type }]) => (type === 'boolean' ? `--${key}` : [])))
  try {
    const { values, positionals } = parseArgs({
      args: fillFlags(args, flags),
      options: Object.fromEntries(named.map(([key]) => [key, { type: 'string' as const }])),
      allowPositionals: positional !== undefined,
    })
    const [only, ...more] = positionals
    if (more.length > 0) throw new Error(`one ${positional} only`)
    return positional ? { ...values, [positional]: only } : values
  } catch (error) {
    throw new UsageError(`${name}: ${messageOf(error)}`, command)
  }
}

/** `--dry-run` says as much as `--dry-run true`. */
function fillFlags(args: readonly string[], flags: ReadonlySet<string>) {
  return args.flatMap((word, i) =>
    flags.has(word) && !/^(true|false)$/.test(args[i + 1] ?? '') ? [word, 'true'] : [word],
  )
}

async function runCommand(command: Command, options: object, config: Config): Promise<object> {
  let opened: { url: string; sql: Sql } | undefined
  async function database() {
    const url = await findDatabase(config)
    return (opened ??= { url, sql: await openCommandPool(url) })
  }
  try {
    return await command.run(options as never, { config, database })
  } catch (error) {
    if (!opened) throw error
    if (isDatabaseAway(error)) throw new OperatorError(`${doesNotAnswer(opened.url)}.`)
    throw databaseError(error, opened.url) ?? error
  } finally {
    await opened?.sql.end({ timeout: 1 })
  }
}

/** @param command the only one that is meant; all without one */
function usage(command: Command | undefined) {
  return [
    'Usage:',
    ...(command ? [command] : commands).map(
      ({ name, usage }) => `  ${adminCommand(`${name} ${usage}`)}`,
    ),
  ].join('\n')
}

class UsageError extends Error {
  readonly command: Command | undefined

  constructor(message: string, command?: Command) {
    super(message)
    this.command = command
  }
}
