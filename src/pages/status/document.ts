/** What every page has: title, icon, style, script, and that it loads itself again. */
import type { Level, Verdict } from '../../status/status.ts';
import { type Html, html, trusted } from '../html.ts';
import { SCRIPT, STYLE } from './style.ts';

/** Without a script the page loads itself again. */
const RELOAD_SECONDS = 15;

const ICON_COLORS: Readonly<Record<Level, string>> = {
  good: '#1f9d55',
  busy: '#2f6fd0',
  warning: '#d68a00',
  bad: '#d0342c',
};

function icon(level: Level): Html {
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><circle cx="8" cy="8" r="7" fill="${ICON_COLORS[level]}"/></svg>`;
  return html`<link rel="icon" href="data:image/svg+xml,${encodeURIComponent(svg)}" />`;
}

export interface DocumentParts {
  readonly verdict: Verdict;
  /** Whose page it is, for the title. */
  readonly about: string;
  /** That of the answer's Content-Security-Policy. */
  readonly nonce: string;
  readonly main: Html;
  readonly footer: Html;
}

export function renderDocument({ verdict, about, nonce, main, footer }: DocumentParts): string {
  const mark = verdict.level === 'good' ? '✓' : verdict.level === 'busy' ? '…' : '✗';
  const title = `${mark} ${verdict.sentence} ${about}`;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${icon(verdict.level)}
        <noscript><meta http-equiv="refresh" content="${RELOAD_SECONDS}" /></noscript>
        <style nonce="${nonce}">
          ${trusted(STYLE)}
        </style>
      </head>
      <body>
        <p id="lost" role="alert" hidden></p>
        <main>${main}</main>
        ${footer}
        <script nonce="${nonce}">
          ${trusted(SCRIPT)};
        </script>
      </body>
    </html> `;
  return page.text;
}
