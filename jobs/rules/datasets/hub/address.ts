/**
 * The address of a hub as it is used: without a slash at its end.
 * @throws Error for plain http that leaves the machine, and for an address with more than host and path
 */
export function readHubUrl(text: string): string {
  const url = new URL(text)
  if (url.protocol === 'http:' && !LOOPBACK.test(url.hostname)) {
    throw new Error('must be https outside of this machine')
  }
  if (url.username || url.password || url.search || url.hash) {
    throw new Error('must not have credentials, a query or a fragment')
  }
  return `${url.origin}${url.pathname}`.replace(/\/+$/, '')
}

/**
 * Whether an address that a hub named is its own: of its scheme, and of its host or a name under that. Any
 * other is a stranger's.
 */
export function isOfHub(hubUrl: string, url: URL): boolean {
  const { protocol, hostname } = new URL(hubUrl)
  return (
    url.protocol === protocol &&
    (url.hostname === hostname || url.hostname.endsWith(`.${hostname}`))
  )
}

/** `<owner>/<name>`; neither begins with a dot, so that it leads nowhere else in a path. */
export const REPO_ID = /^[\w-][\w.-]{0,95}\/[\w-][\w.-]{0,95}$/
/** A branch; no part of it begins with a dot. */
export const REVISION = /^[\w-][\w.-]*(\/[\w-][\w.-]*)*$/
/** What may be the first line of a commit. */
export const ONE_LINE = /^[^\p{Cc}\p{Cs}\p{Zl}\p{Zp}]+$/u
/** What may stand in a header. */
export const HUB_TOKEN = /^[\x21-\x7e]+$/

const LOOPBACK = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
