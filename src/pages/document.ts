/** The HTML document around each page: one file with its style included. */
import { type Html, html, trusted } from './html.ts';

interface DocumentContent {
  readonly title: string;
  /** Further style or script of this page, before the common style. */
  readonly head: Html;
  readonly style: string;
  /** The nonce of the response's Content-Security-Policy; null: the policy is in the page itself. */
  readonly nonce: string | null;
  readonly body: Html;
}

export function renderDocument({ title, head, style, nonce, body }: DocumentContent): string {
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
