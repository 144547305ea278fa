import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { renderStatus } from '../../src/pages/status/render-status.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/shared/time.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { NO_BROWSER, visit } from '../support/browser.ts';
import { folderForTest } from '../support/lifetime.ts';
import { detailOf, iso, runRow, statusOf } from '../support/status-facts.ts';
import { NOON } from '../support/test-clock.ts';

const PHONE = 390;
const SAID =
  'The service refused training-employee-status.list {"include_all_completions":"boolean","limit":"number"}: token_invalid: "the_token_of_this_request_is_not_known_or_has_been_revoked"';
const LONG_NAMES = ['a-customer-with-a-long-name', 'of-a-name-that-has-no-place-to-break'.repeat(2)];
const COUNT = 12_345_678;

const refusal = {
  ...{ stream: 'followups', holdsAll: true, code: 'token_invalid', advice: SAID },
  ...{ sinceMs: NOON - HOUR_MS, nextTryMs: NOON + MINUTE_MS },
};
const counts = { inserted: COUNT, updated: COUNT, deleted: COUNT, rejected: COUNT, requests: COUNT };
const detail = detailOf({
  recentRuns: STREAM_NAMES.flatMap((stream) => [
    runRow({ stream, status: 'failed', error_code: 'token_invalid', error_message: SAID }),
    runRow({ stream, kind: 'reconcile', started_at: iso(NOON - 50 * HOUR_MS), ...counts }),
  ]),
  liveRows: Object.fromEntries(STREAM_NAMES.map((stream) => [stream, COUNT])),
});
const PAGES = [
  renderStatus(statusOf({ accounts: [{ refusals: [refusal] }] }), detail, 'N'),
  renderStatus(statusOf({ accounts: LONG_NAMES.map((id) => ({ id, refusals: [refusal] })) }), null, 'N'),
];

const attribute = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('"', '&quot;');

/** Puts each page in a frame as wide as a phone, and lists the width of each page and the tags that extend beyond their card. */
function inFrames(pages: readonly string[]): string {
  const frames = pages.map(
    (page) => `<iframe width="${PHONE}" height="1200" srcdoc="${attribute(page)}"></iframe>`,
  );
  return `<!doctype html><meta charset="utf-8"><style>iframe{border:0}</style>${frames.join('')}<pre id="said"></pre>
    <script>onload = () => {
      const wide = [...document.querySelectorAll('iframe')].map((frame) => {
        const page = frame.contentDocument;
        const outside = [...page.querySelectorAll('.card')].flatMap((card) =>
          [...card.querySelectorAll('*')]
            .filter((one) => one.getBoundingClientRect().right > card.getBoundingClientRect().right)
            .map((one) => one.tagName));
        return [page.documentElement.scrollWidth, ...new Set(outside)].join(' ');
      });
      document.getElementById('said').textContent = JSON.stringify(wide);
    };</script>`;
}

it.skipIf(NO_BROWSER !== null)('the status page fits the width of a phone', async () => {
  const file = join(await folderForTest('safety-sync-phone-'), 'phone.html');
  await writeFile(file, inFrames(PAGES));
  const { stdout } = await visit(`file://${file}`, [
    '--hide-scrollbars',
    '--virtual-time-budget=3000',
    '--dump-dom',
  ]);
  const said = /<pre id="said">(.*?)<\/pre>/s.exec(stdout)?.[1] ?? '[]';
  expect(JSON.parse(said)).toEqual(PAGES.map(() => `${PHONE}`));
});
