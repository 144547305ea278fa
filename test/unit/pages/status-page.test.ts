import { expect, it } from 'vitest';
import { renderStatus } from '../../../src/pages/status/render-status.ts';
import { statusPage } from '../../../src/operate/worker/routes.ts';
import { detailOf, GONE, runRow, statusOf } from '../../support/status-facts.ts';
import { NOON } from '../../support/test-clock.ts';

const pageOf = (facts?: Parameters<typeof statusOf>[0]): string =>
  renderStatus(statusOf(facts), detailOf(), 'N');

const EVIL = "\"><script>alert('x')</script><img src=x onerror=alert(1)>&`${1}";
const EVIL_RUN = { status: 'failed', error_code: EVIL, error_message: EVIL, note: EVIL } as const;
const EVIL_ISSUE = {
  kind: 'field_nulled',
  stream: 'followups',
  field: EVIL,
  count: 2,
  problem: EVIL,
} as const;
const EVIL_PAGE = renderStatus(
  statusOf({
    owner: EVIL,
    accounts: [
      {
        id: EVIL,
        streams: {
          followups: { isRunning: true, failedMessage: EVIL, failingWith: EVIL, newFields: [EVIL] },
        },
      },
    ],
    away: { ...GONE, message: EVIL, advice: EVIL },
  }),
  detailOf({ recentRuns: [runRow(EVIL_RUN)], issues: [EVIL_ISSUE], differences: [EVIL] }),
  'N',
);

/** Every tag with its attributes; texts between are left out. */
const tagsOf = (html: string): string[] => html.match(/<[a-z][^>]*>/gi) ?? [];

it('the status page executes and loads nothing, whatever the data is', () => {
  expect(EVIL_PAGE).toContain('&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;');
  const tags = tagsOf(EVIL_PAGE);
  expect(tags.filter((tag) => /^<(script|img|iframe|object|embed|form|link)/i.test(tag))).toEqual([]);
  expect(tags.filter((tag) => / (on[a-z]+|style|src)=/i.test(tag))).toEqual([]);
  const open: string[] = [];
  const page = EVIL_PAGE.replace(/<style([^>]*)>[\s\S]*?<\/style>/g, '<style$1></style>');
  for (const [, slash, name = '', rest = ''] of page.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>/gi)) {
    if (slash === '/') expect(open.pop()).toBe(name);
    else if (name !== 'meta' && !rest.endsWith('/')) open.push(name);
  }
  expect(open).toEqual([]);
});

it('the status page has a content policy that allows its style alone, by the nonce of the response', () => {
  const { headers, body } = statusPage(statusOf(), null);
  const policy = headers?.['content-security-policy'] ?? '';
  const [, nonce = ''] = /'nonce-([^']+)'/.exec(policy) ?? [];
  expect(policy).toMatch(/^default-src 'none'; style-src 'nonce-/);
  expect(policy).not.toContain('unsafe');
  expect(String(body).split(`nonce="${nonce}"`)).toHaveLength(2);
});

it('the status page shows the state in its heading and in its title, and the age of what it knows', () => {
  const page = pageOf({ away: GONE, nowMs: NOON + 41_000 }).replace(/\s+/g, ' ');
  expect(page).toMatch(/<h1> ?The database is unreachable\. ?<\/h1>/);
  expect(page).toMatch(/<title> ?✗ The database is unreachable\. Account north ?<\/title>/);
  expect(page).toMatch(
    /<p class="old"> ?Account north\. As of <time[^>]*>Mon 2026-03-02 12:00:00<\/time> UTC, 41 s ago: the last known state\./,
  );
  expect(pageOf({ read: null })).toContain('Nothing was read from the database yet.');
});
