/** An answer before it is written. */
export interface Unwritten {
  readonly status: number
  readonly body: object
}

/** An answer as it is sent. */
export interface Written {
  readonly status: number
  readonly type: string
  readonly content: object | string
  readonly headers?: Readonly<Record<string, string>>
}
