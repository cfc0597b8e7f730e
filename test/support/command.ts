import { commands } from '../../ops/commands.ts'
import type { Service } from './service.ts'

/**
 * Runs a command of the operator in this process, on a service of the test's.
 * @param words as they are typed: a name, options as `--name value`, and what has no name
 */
export async function runCommand(service: Service, words: string, options: object = {}) {
  const command = commands.find(({ name }) => name === words)
  if (!command) throw new Error(`There is no command ${words}`)
  const { error, value } = command.options.validate(options)
  if (error) throw error
  const { config, url, sql } = service
  return command.run(value as never, { config, database: async () => ({ url, sql }) })
}
