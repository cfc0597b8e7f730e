/** The platforms that traces are pulled from. Each is the format of its own records, too. */
export const PLATFORM_NAMES = ['langfuse'] as const
export type PlatformName = (typeof PLATFORM_NAMES)[number]

/** Where a platform is, and which of its projects is read. */
export interface Connection {
  /** Without a slash at its end. */
  readonly base_url: string
  /** Name or id. */
  readonly project: string
  readonly workspace: string | null
}

/** What a platform knows its client by. */
export type ConnectionKeys = { readonly [Name in KeyName]?: string | undefined }
export const KEY_NAMES = ['public_key', 'secret_key', 'api_key'] as const
export type KeyName = (typeof KEY_NAMES)[number]

/** The keys without which a platform cannot be asked. */
export const NEEDED_KEYS: Readonly<Record<PlatformName, readonly KeyName[]>> = {
  langfuse: ['public_key', 'secret_key'],
}
