/** What every page is: one HTML document with its style in it, which needs nothing else. */
import { type Html, html, trusted } from './html.ts';

interface DocumentParts {
  readonly title: string;
  /** Of this page alone, before the style. */
  readonly head: Html;
  readonly style: string;
  /** That of the response's Content-Security-Policy; null: the policy stands in the page. */
  readonly nonce: string | null;
  readonly body: Html;
}

export function renderDocument({ title, head, style, nonce, body }: DocumentParts): string {
  const allowed = nonce !== null && html` nonce="${nonce}"`;
  const page = html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>${title}</title>
        ${head}
        <style${allowed}>
          ${trusted(style)}
        </style>
      </head>
      <body>
        ${body}
      </body>
    </html> `;
  return page.text;
}
