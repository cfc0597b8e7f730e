import type { Written } from '../written-answer.ts'
import { assetPath } from './assets.ts'
import { html } from './html.ts'
import type { Markup } from './html.ts'

/** A whole document with what every page loads. */
export function writeDocument(
  { title, body, bodyClass = '' }: { title: string; body: Markup; bodyClass?: string },
  status = 200,
): Written {
  const { text } = html`<html lang="en">
    <head>
      <meta charset="utf-8" />
      <title>${title} · Console</title>
      <meta name="viewport" content="width=device-width" />
      <meta name="color-scheme" content="light dark" />
      <link
        rel="preload"
        href="${assetPath('text.woff2')}"
        as="font"
        type="font/woff2"
        crossorigin
      />
      <link rel="stylesheet" href="${assetPath('console.css')}" />
      <link rel="icon" href="${assetPath('icon.svg')}" />
      <script type="module" src="${assetPath('console.ts')}"></script>
    </head>
    <body class="${bodyClass}">
      ${body}
    </body>
  </html>`
  return {
    status,
    type: 'text/html; charset=utf-8',
    content: `<!doctype html>\n${text}`,
    headers: HEADERS,
  }
}

/** Only what this service serves; no style or script within the page; no frame around it. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "font-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  'trusted-types console',
].join('; ')

const HEADERS = {
  'Content-Security-Policy': POLICY,
  'Referrer-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cache-Control': 'no-store',
}
