/** The platforms that traces are pulled from. Each is the format of its own records, too. */
export const PLATFORM_NAMES = ['langfuse', 'langsmith', 'phoenix', 'opik'] as const
export type PlatformName = (typeof PLATFORM_NAMES)[number]

/** Where a platform is, and which of its projects is read. */
export interface Connection {
  /** Without a slash at its end. */
  readonly base_url: string
  /** Name or id. */
  readonly project: string
  readonly workspace?: string
}

/** What a platform knows its client by. */
export interface ConnectionKeys {
  readonly public_key?: string
  readonly secret_key?: string
  readonly api_key?: string
}
