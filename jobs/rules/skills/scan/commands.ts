import type { WordRule } from './word-rule.ts'

/** Commands and code that run what they fetch or hide, hand over a shell, or destroy what is there. */
export const COMMAND_RULES: readonly WordRule[] = [
  ...rulesFor('fetch_execute', {
    // curl URL | sh; an interpreter with arguments reads data from the pipe, and no program.
    '|': [
      /\b(?:curl|wget|fetch|aria2c|iwr|irm|invoke-(?:webrequest|restmethod))\s[^\n`]{1,400}\|\s{0,8}(?:sudo\s{1,4}(?:-\S{1,20}\s{1,4}){0,3})?(?:env\s{1,4})?(?:\/[\w/.-]{0,40}\/)?(?:(?:ba|z|k|c|da|a|fi)?sh|iex|invoke-expression|pwsh|(?:python[\d.]{0,4}|node|deno|bun|perl|ruby|php)(?=\s{0,4}-?\s{0,4}(?:[\n`"')|;&]|$)))(?![\w.-])/gim,
    ],
    // bash <(curl URL), sh -c "$(curl URL)", eval "$(wget URL)"
    'curl|wget': [
      /(?:\b(?:(?:ba|z|k|da|a)?sh|eval|source|exec)|(?<=^|[\s;])\.)\s{1,4}(?:-\w{1,8}\s{1,4}){0,3}["']?(?:<\(|\$\(|`)\s{0,4}(?:sudo\s{1,4})?(?:curl|wget)\b/gim,
      // curl URL -o FILE, and then FILE is run.
      /\b(?:curl|wget)\b[^\n]{0,300}(?:\s-\w{0,8}o|--output(?:-document)?|>)[ =]{0,4}["']?([\w./~-]{1,80})\b[^\n;&]{0,80}(?:&&|;|\n)\s{0,8}(?:(?:sudo|chmod\s{1,4}[\w+]{1,6}|(?:ba|z|da)?sh|python[\d.]{0,4}|node|source|\.)\s{1,4}){1,3}["']?(?:\.\/)?\1/gi,
    ],
    'iex|invoke-expression': [
      /\b(?:iex|invoke-expression)\b[^\n]{0,200}(?:downloadstring|downloaddata|\biwr\b|\birm\b|invoke-(?:webrequest|restmethod))/gi,
    ],
    'exec|eval': [
      /\b(?:exec|eval)\s{0,4}\([^\n]{0,120}(?:urlopen|requests\.get|httpx\.get|fetch)\s{0,4}\(/gi,
    ],
  }),

  ...rulesFor('decode_execute', {
    'base64|openssl|xxd': [
      /\b(?:base64\s{1,4}(?:-d|-di|--decode)\b|openssl\b[^\n|]{0,80}\s-d\b|xxd\b[^\n|]{0,20}\s-\w{0,3}r)[^\n;`]{0,200}\|\s{0,8}(?:sudo\s{1,4})?(?:\/[\w/.-]{0,40}\/)?(?:(?:ba|z|k|da|a)?sh|python[\d.]{0,4}|node|perl|ruby|php)\b/gi,
      /(?:\b(?:(?:ba|z|k|da|a)?sh|eval|source|exec|python[\d.]{0,4})|(?<=[\s;])\.)\s{1,4}[^\n;|]{0,20}(?:<\(|\$\(|`)[^\n;`)]{0,200}\|?\s{0,4}base64\s{1,4}(?:-d|-di|--decode)\b/gi,
    ],
    'decode|hex|decompress|marshal|inflate|rot13': [
      /\b(?:exec|eval|compile|system|popen|subprocess\.\w{2,12}|assert)\s{0,4}\([^\n]{0,120}(?:b(?:16|32|64|85)decode|base64_decode|unhexlify|fromhex|codecs\.decode|zlib\.decompress|marshal\.loads|gzinflate|str_rot13)/gi,
    ],
    'atob|buffer.from': [
      /\b(?:eval|function|exec(?:sync)?|settimeout)\s{0,4}\([^\n]{0,120}(?:\batob\s{0,4}\(|buffer\.from\s{0,4}\([^\n]{1,300}["'](?:base64|hex)["'])/gi,
    ],
    'frombase64string|powershell|pwsh': [
      /\b(?:iex|invoke-expression)\b[^\n]{0,300}frombase64string|frombase64string[^\n]{0,300}\|\s{0,4}(?:iex|invoke-expression)\b/gi,
      /\b(?:powershell(?:\.exe)?|pwsh)\b[^\n]{0,160}\s-e(?:c|nc(?:odedcommand)?)?\s{1,4}["']?[a-z0-9+/=]{24}/gi,
    ],
  }),

  ...rulesFor('reverse_shell', {
    '/dev/tcp/|/dev/udp/': [
      /\b(?:ba|z|k)?sh\s{1,4}-i\b[^\n]{0,80}\/dev\/(?:tcp|udp)\//gi,
      /\/dev\/(?:tcp|udp)\/[^\n]{1,120}(?:0\s{0,2}>\s{0,2}&\s{0,2}1|0\s{0,2}<\s{0,2}&|<\s{0,2}&\s{0,2}\d{1,3}[^\n]{0,40}(?:\||sh\b))/gi,
    ],
    'nc|netcat': [
      /\b(?:nc|ncat|netcat)(?:\.\w{1,12})?\s[^\n|;]{0,120}?-(?:[a-z]{0,6}[ec]|-exec|-sh-exec)\s{1,4}["']?(?:\/[\w/]{0,30}\/)?(?:(?:ba|z|k|da)?sh|cmd(?:\.exe)?|powershell)\b/gi,
    ],
    mkfifo: [/\bmkfifo\s[^\n]{1,300}\b(?:nc|ncat|netcat|telnet|s_client)\b/gi],
    'dup2|pty.spawn': [
      /\bdup2\s{0,4}\(\s{0,4}\w{1,20}\.fileno\s{0,4}\(/gi,
      /\bpty\.spawn\s{0,4}\(\s{0,4}\[?["'](?:\/[\w/]{0,30}\/)?(?:ba|z)?sh\b/gi,
    ],
    socket: [
      /\bperl\b[^\n]{0,60}\s-e\b(?=[^\n]{0,80}\bsocket\b)[^\n]{0,400}\bexec\b/gi,
      /\bruby\b[^\n]{0,40}-rsocket\b[^\n]{0,300}(?:exec|popen|spawn)/gi,
      /\bnet\.(?:socket|connect|createconnection)\b[^\n]{0,300}\.pipe\s{0,4}\(\s{0,4}\w{1,20}\.stdin/gi,
      /\bnet\.sockets\.tcpclient\b[^\n]{0,300}getstream/gi,
    ],
    fsockopen: [
      /\bfsockopen\s{0,4}\([^\n]{0,200}\b(?:exec|shell_exec|proc_open|passthru|system|popen)\s{0,4}\(/gi,
    ],
    socat: [/\bsocat\b[^\n]{0,200}\b(?:exec|system):\s{0,2}["']?[\w/]{0,30}sh\b/gi],
  }),

  ...rulesFor('destructive_command', {
    // Of the whole disk, the home, or a folder that the system is made of; not of a folder below them.
    'rm ': [
      /\brm\s{1,4}(?=(?:-\S{1,30}\s{1,4}){0,4}(?:-[a-z]{0,6}r|--recursive))(?:-\S{1,30}\s{1,4}){1,5}(?:--\s{1,4})?["']?(?:\/(?:(?:etc|usr|var|home|bin|sbin|boot|lib|lib64|root|opt|srv|system|library|users|applications)\/?)?|~\/?|\$\{?home\}?["']?\/?|\/?[a-z]:[\\/])\*?(?=$|[\s;&|`)"'])/gim,
    ],
    ':(': [/:\s{0,2}\(\s{0,2}\)\s{0,2}\{\s{0,2}:\s{0,2}\|\s{0,2}:\s{0,2}&/g],
    '/dev/': [
      /\bmkfs(?:\.\w{1,10})?\s[^\n]{0,80}\/dev\/\w/gi,
      /\b(?:dd\s[^\n]{0,160}\bof=|shred\s[^\n]{0,80}|wipefs\s[^\n]{0,40})\/dev\/(?:sd|hd|vd|xvd|nvme|mmcblk|disk)/gi,
      />\s{0,4}\/dev\/(?:sd[a-z]|hd[a-z]|vd[a-z]|xvd[a-z]|nvme\d|mmcblk\d|disk\d)/gi,
    ],
    'chmod|chown': [
      /\bch(?:mod|own)\s{1,4}(?:-r|--recursive)\s{1,4}[\w+:]{1,40}\s{1,4}\/(?=$|[\s;&|`*])/gim,
    ],
    '-delete|-exec': [
      /\bfind\s{1,4}(?:\/|~\/?|\$home)\s[^\n]{0,120}(?:\s-delete\b|-exec\s{1,4}(?:rm|shred)\b)/gi,
    ],
    'format|del |rd |rmdir|remove-item|vssadmin|cipher': [
      /\bformat\s{1,4}[a-z]:(?:\s|$)/gim,
      /\b(?:del|rd|rmdir)\s{1,4}(?:\/[a-z]\s{1,4}){1,4}["']?[a-z]:\\(?:\*|windows|users)?(?:["'\s]|$)/gim,
      /\bremove-item\b(?=[^\n]{0,120}-recurse)[^\n]{0,80}\s["']?[a-z]:\\(?:\*|windows|users)?(?:["'\s]|$)/gim,
      /\bvssadmin\b[^\n]{0,20}\sdelete\s{1,4}shadows\b/gi,
    ],
  }),
]

/** @param patterns by their hints, of which `|` parts several unless it is the hint */
function rulesFor(
  code: WordRule['code'],
  patterns: Readonly<Record<string, readonly RegExp[]>>,
): WordRule[] {
  return Object.entries(patterns).flatMap(([hints, list]) =>
    list.map((pattern) => ({
      code,
      severity: 'critical' as const,
      hints: hints === '|' ? ['|'] : hints.split('|'),
      pattern,
    })),
  )
}
