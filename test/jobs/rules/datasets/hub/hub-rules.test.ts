import t from 'tap'
import {
  HUB_TOKEN,
  isOfHub,
  ONE_LINE,
  readHubUrl,
  REPO_ID,
  REVISION,
} from '../../../../../jobs/rules/datasets/hub/address.ts'
import { readRetryAfter } from '../../../../../jobs/rules/core/retry-header.ts'
import { adviseOn } from '../../../../../jobs/rules/datasets/hub/faults.ts'
import { describeCommit, findPushed } from '../../../../../jobs/rules/datasets/hub/push-commit.ts'
import type { HubCommit } from '../../../../../jobs/rules/datasets/hub/push-commit.ts'

t.test('the address of a hub is https, or http on this machine', async (t) => {
  t.equal(readHubUrl('https://hub.example/a/'), 'https://hub.example/a')
  t.equal(readHubUrl('http://127.0.0.1:80/'), 'http://127.0.0.1')
  for (const url of ['http://hub.example', 'https://a:b@hub.example', 'https://hub.example/?a=b']) {
    t.throws(() => readHubUrl(url), url)
  }
})

t.test('an address is of the hub by scheme and host', async (t) => {
  const own = ['https://hub.example/x', 'https://lfs.hub.example:8443/x']
  const others = ['http://hub.example/x', 'https://nothub.example/x', 'https://hub.example.org/x']
  for (const url of own) t.ok(isOfHub('https://hub.example', new URL(url)), url)
  for (const url of others) t.notOk(isOfHub('https://hub.example', new URL(url)), url)
})

t.test('names lead nowhere else', async (t) => {
  for (const name of ['a/b', 'A-1/b.c_d']) t.match(name, REPO_ID)
  for (const name of ['../b', 'a/..', 'a', 'a/b/c', `${'a'.repeat(97)}/b`])
    t.notMatch(name, REPO_ID)
  for (const name of ['..', 'a/../b', '/a', 'a/']) t.notMatch(name, REVISION)
  for (const token of ['a b', 'a\r\nb', 'é']) t.notMatch(token, HUB_TOKEN)
  for (const line of ['a\nb', 'a\u2028b', 'a\u0085b', '\ud800', '']) t.ok(!ONE_LINE.test(line))
  t.match('Für alle 🎉', ONE_LINE)
})

t.test(
  'a hub that is busy is waited for, at most ten minutes at once and a day in all',
  async (t) => {
    const busy = { status: 429, sentence: '', asked: 'hub' as const }
    const advise = (retryAfterSeconds: number | null, waited = 0) =>
      adviseOn({ ...busy, retryAfterSeconds }, 'token', waited)
    t.same(advise(7), { kind: 'wait', seconds: 7 })
    t.same(advise(0), { kind: 'wait', seconds: 1 })
    t.same(advise(9999), { kind: 'wait', seconds: 600 })
    t.same(advise(null), { kind: 'wait', seconds: 30 })
    t.match(advise(7, 86_400), { kind: 'retry', code: 'hub_unavailable' })
  },
)

t.test('a wait is said in seconds or by a date', async (t) => {
  const now = new Date('2026-10-21T07:27:00.500Z')
  t.equal(readRetryAfter('12', now), 12)
  t.equal(readRetryAfter('Wed, 21 Oct 2026 07:28:00 GMT', now), 60)
  t.equal(readRetryAfter('Wed, 21 Oct 2026 07:26:59 GMT', now), -1)
  const others = [null, '', '-1', '1.5', 'soon', '1 Jan 2027', 'Wed, 99 Oct 2026 07:28:00 GMT']
  for (const header of others) t.equal(readRetryAfter(header, now), null, String(header))
})

t.test('the token is not repeated, in whatever form a hub echoes it', async (t) => {
  const token = 'hf_AbC/1+2='
  const said = (sentence: string) =>
    adviseOn({ status: 403, sentence, retryAfterSeconds: null, asked: 'hub' }, token, 0)
  const forms = [token, token.toLowerCase(), encodeURIComponent(token), btoa(token)]
  for (const form of forms) {
    t.match(said(`You are ${form}!`), { message: 'The hub answered 403: You are [token]!' })
  }
  const long = 'hf_TestTokenThatMustBeNowhere1'
  for (const bytes of [`${long}.`, `x:${long}`, `xx:${long}`]) {
    for (const form of [btoa(bytes), Buffer.from(bytes).toString('hex')]) {
      t.match(said(form), { message: /^The hub answered 403: \[\.\.\.\]$/ })
    }
  }
  const words = 'Repository acme/dialogues not found'
  t.match(said(words), { message: `The hub answered 403: ${words}` })
})

t.test('what is not found is the revision only where that was asked for', async (t) => {
  const missing = { status: 404, sentence: '', retryAfterSeconds: null }
  for (const [asked, code] of [
    ['revision', 'hub_no_revision'],
    ['hub', 'hub_rejected'],
    ['storage', 'hub_unavailable'],
  ] as const) {
    t.match(adviseOn({ ...missing, asked }, 'token', 0), { code })
  }
})

t.test('a commit makes a push unnecessary', async (t) => {
  const [one, two, push] = [1, 2, 3].map((n) => `01a20080-6a47-7000-8000-00000000000${n}`) as [
    string,
    string,
    string,
  ]
  const commitOf = (versionId: string, pushId: string, contents: string) => {
    const { title, description: message } = describeCommit({ versionId, pushId, contents }, 'x')
    return { id: pushId, title, message }
  }
  const other = { id: 'other', title: 'fix', message: '' }
  const identity = { pushId: push, versionId: one, contents: 'c1' }
  const equal = commitOf(one, 'a', 'c1')
  const replacing = commitOf(two, 'b', 'c2')
  const isFound = (...commits: HubCommit[]) => findPushed(commits, identity)?.id
  t.equal(isFound(other), undefined)
  t.equal(isFound(equal, other), 'a', 'of the same contents')
  t.equal(isFound(other, equal), undefined, 'others may have deleted its files')
  t.equal(isFound(commitOf(one, 'c', 'c3'), equal), undefined, 'the card was another')
  t.equal(isFound(replacing, equal), undefined, 'replaced')
  t.equal(isFound(other, replacing, commitOf(one, push, 'c3')), push, 'its own')
  const quoting = { ...other, message: `Revert "push ${push}"\ncontents c1 of old` }
  t.equal(isFound(quoting), undefined, 'lines are compared whole')
})
