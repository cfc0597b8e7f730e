import type Joi from 'joi'
import type { Sql } from '../sql/core/db.ts'
import type { Config } from './config.ts'

/** One command of `ops/admin.ts`; what `run` returns is printed as JSON. */
export interface Command {
  readonly name: string
  readonly usage: string
  /** Every option is `--<member>`, but for the one that is given without a name. */
  readonly options: Joi.ObjectSchema
  readonly positional?: string
  readonly run: (options: never, access: Access) => Promise<object>
}

export interface Access {
  readonly config: Config
  /** Opens the database of this installation. @throws OperatorError */
  readonly database: () => Promise<{ url: string; sql: Sql }>
}

export function command<O extends object>(
  name: string,
  declared: Omit<Command, 'name' | 'options' | 'run'> & {
    readonly options: Joi.ObjectSchema<O>
    readonly run: (options: O, access: Access) => Promise<object>
  },
): Command {
  return { name, ...declared } as Command
}
