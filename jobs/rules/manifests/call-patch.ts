import { cut, isObject } from '../core/reader.ts'
import { isCall, openArgumentBudget, readArguments } from '../traces/message-calls.ts'
import type { LlmCall, ToolCall } from '../traces/trace.ts'
import { fitArguments } from './argument-fit.ts'
import type { ArgumentFit } from './argument-fit.ts'
import type { RepairFault, RepairFaultCode } from './repair-outcome.ts'
import type { RepairPlan } from './repair-plan.ts'
import { rewrite } from './repair-text.ts'
import type { ParsedText } from './repair-text.ts'
import { describeFaults } from './schema-check.ts'
import type { RepairRule } from './tool-repair.ts'

/**
 * Patches the tool calls of one trace wherever its LLM calls have them, each from the arguments that
 * stand there: so equal calls come out equal, whatever their ids are. What fits stays as it is, byte
 * for byte.
 */
export class CallPatch {
  /** The rules that changed something. */
  readonly used = new Set<RepairRule>()
  /** The tools with a call that fits under no rule; null stands for the final output. */
  readonly unfit = new Set<string | null>()
  /** The first thing that could not be patched. */
  fault: RepairFault | undefined

  readonly #plan: RepairPlan
  readonly #budget = openArgumentBudget()
  /** By tool and text of the arguments: each LLM call is given the messages of those before it again. */
  readonly #known = new Map<string, Change | undefined>()
  #added = 0

  constructor(plan: RepairPlan) {
    this.#plan = plan
  }

  llmCall(call: LlmCall): LlmCall {
    return {
      ...call,
      rendered_input: patchEach(call.rendered_input, (message) => this.#message(message)),
      output: this.#message(call.output),
      tools: call.tools.flatMap((tool) => this.#offered(tool)),
      tool_calls: patchEach(call.tool_calls, (made) => this.#recorded(made)),
    }
  }

  /** @returns undefined, so that what cannot be patched is left as it is */
  refuse(code: RepairFaultCode, message: string): undefined {
    this.fault ??= { code, message: cut(message, MAX_MESSAGE) }
  }

  /** Whether so many characters more may be added. */
  hasRoom(length: number): boolean {
    this.#added += length
    if (this.#added <= MAX_ADDED) return true
    this.refuse('too_large', `the patches come to more than ${MAX_ADDED} characters`)
    return false
  }

  #recorded(call: ToolCall): ToolCall {
    const change = this.#changeOf(call.tool_name, call.args)
    if (!change) return call
    return change.kind === 'renamed'
      ? { ...call, tool_name: change.to }
      : { ...call, args: change.value }
  }

  /** A message, or the output of an LLM call. */
  #message<M extends Record<string, unknown>>(message: M): M {
    const { role } = message
    const isAnswer = role === 'tool' || role === 'function'
    const said = isAnswer ? message : this.#part(message)
    const { name, tool_calls, function_call: single, content, output } = said
    const part = (each: unknown) => this.#part(each)
    const members = {
      name: isAnswer && typeof name === 'string' ? this.#renamed(name) : name,
      tool_calls: patchItems(tool_calls, (each) => this.#asked(each)),
      function_call: isObject(single) ? this.#called(single) : single,
      content: isAnswer ? content : patchItems(content, part),
      output: isAnswer ? output : patchItems(output, part),
    }
    const changed = Object.entries(members).filter(([member, value]) => value !== said[member])
    return changed.length === 0 ? said : { ...said, ...Object.fromEntries(changed) }
  }

  /** A call as it stands in a content of Anthropic's, or as an item of OpenAI's Responses. */
  #part<Part>(part: Part): Part {
    if (!isObject(part)) return part
    switch (part['type']) {
      case 'tool_use':
        return this.#called(part, 'input')
      case 'function_call':
        return this.#called(part)
      default:
        return part
    }
  }

  #asked(call: unknown): unknown {
    if (!isCall(call)) return call
    const called = this.#called(call.function)
    return called === call.function ? call : { ...call, function: called }
  }

  /** `{name, arguments}`, which messages have in the old style and in the new one, or the like of it. */
  #called<Called extends Record<string, unknown>>(called: Called, member = 'arguments'): Called {
    const { name, [member]: given } = called
    if (typeof name !== 'string') return called
    const isText = typeof given === 'string'
    const change = isText ? this.#changeOfText(name, given) : this.#changeOf(name, given ?? {})
    if (!change) return called
    return change.kind === 'renamed'
      ? { ...called, name: change.to }
      : { ...called, [member]: isText ? change.text : change.value }
  }

  /** The name in an answer of a tool; it has no arguments that might not fit. */
  #renamed(name: string): string {
    const plan = this.#plan.transition.tools.get(name)
    if (plan?.kind !== 'renamed') return name
    this.used.add(plan.rule)
    return plan.rule.to
  }

  #changeOfText(tool: string, text: string): Change | undefined {
    if (!this.#plan.transition.tools.has(tool)) return undefined
    const key = `${tool}\n${text}`
    if (this.#known.has(key)) {
      const known = this.#known.get(key)
      return known?.kind === 'repaired' && !this.hasRoom(known.text.length) ? undefined : known
    }
    const value = readArguments(text || '{}', this.#budget)
    const change = this.#changeOf(tool, value, { text, value })
    this.#known.set(key, change)
    return change
  }

  #changeOf(tool: string, args: unknown, source?: ParsedText): Change | undefined {
    const plan = this.#plan.transition.tools.get(tool)
    switch (plan?.kind) {
      case undefined:
      case 'output_changed':
        return undefined
      case 'missing':
        return this.#unfits(tool, 'tool_missing')
      case 'unverifiable':
        return this.#unfits(tool, 'tool_schema_unverifiable')
      case 'renamed':
      case 'changed':
        return this.#changeFor(tool, fitArguments(args, plan), source)
    }
  }

  #changeFor(tool: string, fit: ArgumentFit, source: ParsedText | undefined): Change | undefined {
    switch (fit.kind) {
      case 'fitting':
        return undefined
      case 'unverifiable':
        return this.#unfits(tool, 'tool_schema_unverifiable')
      case 'unfit':
        return this.#unfits(tool, 'tool_schema_incompatible', describeFaults(fit.faults))
      case 'renamed':
        this.used.add(fit.rule)
        return { kind: 'renamed', to: fit.rule.to }
      case 'repaired': {
        for (const rule of fit.used) this.used.add(rule)
        const text = rewrite(fit.value, source)
        if (text === undefined) return this.refuse('not_writable', `arguments of ${tool}`)
        return this.hasRoom(text.length) ? { kind: 'repaired', value: fit.value, text } : undefined
      }
    }
  }

  #unfits(tool: string, code: RepairFaultCode, detail = 'a call in the messages') {
    this.unfit.add(tool)
    return this.refuse(code, `${tool}: ${detail}`)
  }

  /** A tool offered to the model, as the target defines it; none when the target has it no more. */
  #offered(tool: Record<string, unknown>): Record<string, unknown>[] {
    const { function: inner } = tool
    const told = isObject(inner) ? inner : tool
    const { name } = told
    const offer = typeof name === 'string' ? this.#plan.offers.get(name) : undefined
    if (offer === null) return []
    if (!offer || !this.hasRoom(offer.length)) return [tool]
    const { description, schema } = offer
    const given = SCHEMA_MEMBERS.filter((member) => member in told)
    const members = given.length > 0 ? given : ['parameters']
    const defined = {
      ...told,
      name: offer.name,
      ...(description !== null && { description }),
      ...(schema && Object.fromEntries(members.map((member) => [member, schema]))),
    }
    return [told === tool ? defined : { ...tool, function: defined }]
  }
}

function patchItems(list: unknown, patch: (each: unknown) => unknown): unknown {
  return Array.isArray(list) ? patchEach(list, patch) : list
}

/** The list itself where nothing in it was changed. */
export function patchEach<T>(list: T[], patch: (each: T) => T): T[] {
  let isChanged = false
  const patched = list.map((each) => {
    const after = patch(each)
    isChanged ||= after !== each
    return after
  })
  return isChanged ? patched : list
}

/** Under which an offered tool may have the schema of its arguments. */
const SCHEMA_MEMBERS = ['parameters', 'inputSchema', 'input_schema']
const MAX_MESSAGE = 500
/**
 * Characters that patches may add to one trace: calls and offered tools are many, and a default value or
 * a definition that each of them takes on can be long.
 */
const MAX_ADDED = 16 << 20

type Change =
  | { readonly kind: 'renamed'; readonly to: string }
  | { readonly kind: 'repaired'; readonly value: Record<string, unknown>; readonly text: string }
