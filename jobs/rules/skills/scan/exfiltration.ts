import type { Hit } from './finding.ts'
import type { ScannedText } from './scanned-text.ts'

/** What only its owner should read, and a way out, within three lines of each other. */
export function* findExfiltration({ words, lower }: ScannedText): Generator<Hit> {
  if (!EGRESS_HINTS.some((hint) => lower.includes(hint))) return
  const ways = [...words.text.matchAll(EGRESS)].map(({ index }) => words.lineAt(index))
  let next = 0
  for (const { index } of words.text.matchAll(SOURCE)) {
    const line = words.lineAt(index)
    while (next < ways.length && (ways[next] as number) < line - DISTANCE) next++
    if ((ways[next] ?? Infinity) <= line + DISTANCE) {
      yield { code: 'exfiltration', severity: 'critical', form: words, offset: index }
    }
  }
}

const DISTANCE = 3

/**
 * Files of keys and passwords, and all of the environment. Not one variable of it, which is how a program
 * gets the key that it is meant to send; not the key that ssh logs in with, nor a public one.
 */
const SOURCE = new RegExp(
  [
    String.raw`(?<!-i\s{1,4}["']?)(?:~|\$\{?home\}?|\/root|\/home\/[\w.-]{1,40})\/\.ssh\/?(?![\w./-]{0,40}(?:\.pub|config|known_hosts))`,
    String.raw`\bid_(?:rsa|dsa|ecdsa|ed25519)\b(?!\.pub)(?<!-i\s{1,4}["']?[\w~./-]{0,60})`,
    String.raw`\.(?:aws\/credentials|netrc|pgpass|git-credentials|docker\/config\.json|kube\/config|config\/gcloud|azure\/\w{1,40}\.json)\b`,
    String.raw`\/etc\/(?:shadow|passwd|sudoers)\b`,
    String.raw`\.gnupg\b|\bwallet\.dat\b|\blogin\.keychain|\bdump-keychain\b|\bfind-generic-password\b`,
    String.raw`\b(?:cookies\.sqlite|logins\.json|key4\.db|login data)\b`,
    String.raw`(?:\bcat\s{1,4}|<\s{0,2}|@|open\s{0,2}\(\s{0,2}|readfile(?:sync)?\s{0,2}\(\s{0,2})["']?[\w./~$-]{0,60}\.env\b(?!\.(?:example|sample|template))`,
    String.raw`\bprintenv\b|(?<=^|[\s;&|(\x60$])env\s{0,4}\||\$\(\s{0,2}env\s{0,2}\)`,
    String.raw`json\.stringify\s{0,2}\(\s{0,2}process\.env\s{0,2}[,)]|(?:dict|str|dumps)\s{0,2}\(\s{0,2}(?:dict\s{0,2}\(\s{0,2})?os\.environ\s{0,2}\)`,
  ].join('|'),
  'gim',
)

const EGRESS_HINTS = [
  'curl',
  'wget',
  'post',
  'put',
  'nc',
  'scp',
  'rsync',
  'http',
  'dig',
  'nslookup',
  'mail',
  'invoke-',
]

/** Requests with a body, copies to another machine, names to be looked up, and places to drop things. */
const EGRESS = new RegExp(
  [
    String.raw`\bcurl\b[^\n]{0,300}\s(?:(?-i:-[dFT]\b)|-x\s{0,4}["']?(?:post|put)|--(?:data|form|upload-file|json|request[ =](?:post|put)))`,
    String.raw`\bwget\b[^\n]{0,300}\s--(?:post-(?:data|file)|body-(?:data|file)|method[ =](?:post|put))`,
    String.raw`\|\s{0,4}(?:curl|wget|nc|ncat|netcat|mail|sendmail)\b`,
    String.raw`\b(?:requests|httpx|axios|session|got|http)\.(?:post|put|patch)\s{0,4}\(`,
    String.raw`\bfetch\s{0,4}\([^\n]{0,200}\bmethod\b[^\n]{0,20}(?:post|put)`,
    String.raw`\burlopen\s{0,4}\([^\n]{0,200}\bdata\s{0,2}=`,
    String.raw`\b(?:invoke-webrequest|invoke-restmethod|iwr|irm)\b[^\n]{0,200}-method\s{1,4}["']?(?:post|put)`,
    String.raw`\b(?:nc|ncat|netcat)\s{1,4}(?:-\w{1,8}\s{1,4}){0,3}[\w.-]{1,80}\s{1,4}\d{1,5}\b`,
    String.raw`\b(?:scp|rsync)\s[^\n]{1,300}\s["']?[\w.@-]{1,80}:`,
    String.raw`\b(?:dig|nslookup|host|ping)\s[^\n]{0,80}(?:\$\(|\x60)`,
    String.raw`\b(?:webhook\.site|requestbin|pipedream\.net|ngrok(?:-free)?\.(?:io|app|dev)|interact\.sh|oast\.(?:fun|pro|live|site|online|me)|burpcollaborator\.net|transfer\.sh|file\.io|0x0\.st|termbin\.com|pastebin\.com\/api|api\.telegram\.org\/bot|discord(?:app)?\.com\/api\/webhooks|hooks\.slack\.com)`,
  ].join('|'),
  'gi',
)
