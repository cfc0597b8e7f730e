import type { Members } from '../../../jobs/rules/import/format.ts'
import type { Connection, ConnectionKeys } from '../../../jobs/rules/import/platforms.ts'

/** How traces are pulled from one kind of platform. */
export interface Platform {
  /** Rows that a page is asked for, unless such pages prove too large. */
  readonly pageRows: number
  /** Headers that tell the platform who asks. */
  headers(connection: Connection, keys: ConnectionKeys): Readonly<Record<string, string>>
  /** Opens the platform for one run of the job; what is kept in memory is gone with the run. */
  open(source: Source): Puller
}

export interface Puller {
  /**
   * Looks for the project, once for the whole job.
   * @returns what each page is asked with, such as an id; at most 1,000 characters, kept in the checkpoint
   * @throws SourceRefused with 404, or ProjectUnknown, when there is no such project
   */
  begin(): Promise<string>
  /**
   * One page of what began in a window. Rows that come twice, on pages or in windows, change nothing, as
   * long as they have the same id.
   */
  listPage(ask: PageAsk): Promise<PlatformPage>
  /** Most rows that the list gives which a page is of, where that may be fewer than were asked for. */
  mostRows?(ask: Pick<PageAsk, 'project' | 'cursor'>): number
}

export interface PageAsk {
  /** What `begin` returned. */
  readonly project: string
  readonly window: Window
  /** `next` of the page before; undefined at the beginning of a window. */
  readonly cursor: string | undefined
  /** Most rows that may be asked for. It is lower than `pageRows` once pages were too large. */
  readonly limit: number
}

/** A range of time, from the first millisecond up to and without the last. */
export interface Window {
  readonly from: Date
  readonly to: Date
}

export interface PlatformPage {
  /** Records in the platform's own format, each one JSON text, as `formats` takes them. */
  readonly records: readonly Uint8Array[]
  /**
   * Where the window goes on; at most 10,000 characters, kept in the checkpoint. Undefined behind its last
   * page. A page that is refused with 400, 404, 410 or 422 and has a cursor means that the cursor has
   * expired: the window then begins again.
   */
  readonly next: string | undefined
  /**
   * How many pages the list has, where the platform numbers them. Rows of one time may then be on two of
   * them or on none, since their order may be another one for each page: so the window begins again, as
   * short as to have one page, unless it is too short to be divided.
   */
  readonly pages?: number
  /** What the platform left out of the records, by code. */
  readonly losses?: Readonly<Record<string, number>>
}

/** The platform, as one run may ask it. */
export interface Source {
  readonly connection: Connection
  /**
   * Sends one request and takes the answer apart. Nothing is asked twice here.
   * @throws SourceRefused for every answer that is not a 2xx
   * @throws NoAnswer where there is none, or not all of it; `too_large` beyond 32 MiB
   * @throws SourceUnreadable for an answer that is not JSON
   */
  ask(request: SourceRequest): Promise<SourceAnswer>
}

export interface SourceRequest {
  /** Below `base_url`, with a slash at its beginning. Whatever comes from outside must be encoded. */
  readonly path: string
  /** A member that is undefined is left out; each item of a list is a parameter of its own. */
  readonly query?: Readonly<Record<string, string | number | readonly string[] | undefined>>
  /** With a body it is a POST of JSON. */
  readonly body?: Members
  /**
   * The member of the answer that lists the rows; an answer that is a list itself is taken for it. `null`
   * where the answer is JSON Lines. Without it nothing is taken apart.
   */
  readonly rows?: string | null
}

export interface SourceAnswer {
  /** The JSON text of each row. */
  readonly rows: readonly Buffer[]
  /** The answer without its rows. */
  readonly rest: Members
}

/** The platform answered with something else than a 2xx. */
export class SourceRefused extends Error {
  readonly status: number
  /** As its Retry-After says; null without one. */
  readonly retryAfterSeconds: number | null

  /** @param message a sentence of ours, without keys */
  constructor(status: number, message: string, retryAfterSeconds: number | null = null) {
    super(message)
    this.status = status
    this.retryAfterSeconds = retryAfterSeconds
  }
}

/** The platform has no such project, or none that these keys may see. */
export class ProjectUnknown extends Error {
  constructor(message = 'The platform has no such project, or none that these keys may see') {
    super(message)
  }
}

/** The platform's answer is not what its API promises. */
export class SourceUnreadable extends Error {}
