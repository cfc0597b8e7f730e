import { completeRecipe } from '../../jobs/rules/datasets/recipe.ts'
import type { DatasetType, Options, RecipeRequest } from '../../jobs/rules/datasets/recipe.ts'
import { openRowMaker } from '../../jobs/rules/datasets/rows.ts'
import type { Candidate, CandidateContent } from '../../jobs/rules/datasets/candidates.ts'
import type { LlmCall } from '../../jobs/rules/traces/trace.ts'

export const candidate: Candidate = {
  trace_id: 'trace-1',
  agent_name: 'agent',
  manifest_hash: null,
  verdict: 'keep',
  eval_verdict: 'pass',
  quality: 0.9,
  scores: { reward: 1 },
  task_id: 'task',
  session_id: null,
  reasons: ['score.good'],
  repair: null,
  replay: null,
  annotation_id: null,
  manifest_id: null,
  source_trace_id: null,
  attempted: 'task task',
  preferred: null,
  pair_id: null,
}

export type Call = Partial<Pick<LlmCall, 'rendered_input' | 'output' | 'tools' | 'tool_calls'>>

export function contentOf(...calls: Call[]): CandidateContent {
  const filled = calls.map((call) => ({
    rendered_input: [],
    output: {},
    tools: [],
    tool_calls: [],
    ...call,
  }))
  return {
    llm_calls: filled as unknown as LlmCall[],
    user_input_preview: null,
    final_output_preview: null,
    corrected_output: null,
  }
}

export function make(
  content: CandidateContent,
  options: Partial<Options> = {},
  type: DatasetType = 'sft',
  of: Partial<Candidate> = {},
) {
  const recipe = completeRecipe(type, null, { options } as RecipeRequest)
  return openRowMaker(recipe)({ ...candidate, ...of }, content).map((row) =>
    'reason' in row ? row.reason : (JSON.parse(row.training) as Training),
  )
}

export const user = (content: unknown = 'Where is my order?') => ({ role: 'user', content })
export const assistant = (content: unknown = 'On its way.') => ({ role: 'assistant', content })
export const calling = (name: string, args: unknown, id = 'abc') => ({
  role: 'assistant',
  content: null,
  tool_calls: [{ id, type: 'function', function: { name, arguments: args } }],
})
export const result = (content: string, id: string | undefined = 'abc') => ({
  role: 'tool',
  content,
  ...(id && { tool_call_id: id }),
})
export const tool = (name: string, parameters: object) => ({
  type: 'function',
  function: { name, parameters },
})

export interface Training {
  readonly messages?: readonly TrainedMessage[]
  readonly conversations?: readonly { readonly weight: number }[]
  readonly prompt?: readonly TrainedMessage[]
  readonly completion?: readonly TrainedMessage[]
  readonly label?: boolean
  readonly tools?: unknown
}
export interface TrainedMessage {
  readonly role: string
  readonly content: unknown
  readonly name?: string
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly function: { readonly arguments: unknown } }[]
  readonly weight: number
}
