import type Joi from 'joi'

/** Joi's description of a schema. */
export function describedOf(schema: Joi.Schema): Described {
  return schema.describe() as Described
}

/** The parts of a description that the documentation uses. */
export interface Described {
  readonly type: string
  readonly flags?: {
    readonly label?: string
    readonly description?: string
    readonly default?: unknown
    readonly presence?: string
    readonly only?: boolean
    readonly unknown?: boolean
    readonly empty?: Described
  }
  readonly metas?: readonly { readonly types?: readonly string[] }[]
  readonly allow?: readonly unknown[]
  readonly examples?: readonly unknown[]
  readonly rules?: readonly { readonly name: string; readonly args?: Arguments }[]
  readonly keys?: Readonly<Record<string, Described>>
  readonly patterns?: readonly { readonly rule: Described }[]
  readonly items?: readonly Described[]
  readonly matches?: readonly {
    readonly schema?: Described
    readonly then?: Described
    readonly otherwise?: Described
  }[]
}

export interface Arguments {
  readonly limit?: unknown
  readonly regex?: string
}
