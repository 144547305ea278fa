import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { renderStatus } from '../../src/pages/status/render-status.ts';
import type { Refusal } from '../../src/operate/health/account-health.ts';
import { adviceOf } from '../../src/shared/errors.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/shared/time.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { NO_BROWSER, visit } from '../support/browser.ts';
import { folderForTest } from '../support/lifetime.ts';
import { iso, runRow, statusOf } from '../support/status-facts.ts';
import { NOON } from '../support/test-clock.ts';

const PHONE = 390;
const KEEPING = {
  deletedDays: 365,
  runsDays: 90,
  issuesDays: null,
  omitted: ['followup_messages.note', 'followup_messages.signature', 'followup_attachments.caption'],
  pseudonyms: ['users.name', 'equipment.serial_number', 'equipment_metavalues.text_value'],
};
const SAID =
  'The service refused training-employee-status.list {"include_all_completions":"boolean","limit":"number","page":"number","equipmentType_id":"string","service_type":"string"}: token_invalid: "the_token_of_this_request_is_not_known_or_has_been_revoked"';
const AWAY = 'connect ECONNREFUSED /var/run/postgresql-of-the-warehouse-of-a-customer/.s.PGSQL.5432';

const circuit: Refusal = {
  stream: 'training-employee-status',
  holdsAll: true,
  code: 'token_invalid',
  message: SAID,
  advice: adviceOf('token_invalid', { entry: 'a-customer-with-a-long-name' }),
  sinceMs: NOON - HOUR_MS,
  nextTryMs: NOON + 14 * MINUTE_MS,
};

/** Runs as long and as large as they are shown. */
const runs = STREAM_NAMES.flatMap((stream, index) => [
  runRow({
    run_id: 20 + index,
    stream,
    started_at: iso(NOON - 26 * HOUR_MS),
    finished_at: iso(NOON - 26 * HOUR_MS + 87 * SECOND_MS),
    status: 'failed',
    error_code: 'token_invalid',
    error_message: SAID,
    requests: 12_345,
  }),
  runRow({
    run_id: 10 + index,
    stream,
    kind: 'reconcile',
    started_at: iso(NOON - 50 * HOUR_MS),
    finished_at: iso(NOON - 50 * HOUR_MS + 12_345 * SECOND_MS),
    inserted: 1_234_567,
    updated: 1_234_567,
    deleted: 1_234_567,
    rejected: 1_234_567,
  }),
]);
const warehouse = {
  volumes: {
    rows: STREAM_NAMES.map((stream) => ({ stream, rows: 12_345_678, isEstimate: true })),
    partitions: [],
  },
};
const rows = { recentRuns: runs, openRuns: [runRow({ stream: 'followups', status: 'running' })] };
const health = { refusals: [circuit] };
const away = {
  code: 'network_error',
  failingSinceMs: NOON,
  failingWith: 'network_error',
  failedMessage: SAID,
};
const retries = STREAM_NAMES.map((stream) => ({
  ...{ method: `${stream}.list`, code: 'network_error', reason: 'connection refused', attempt: 7 },
  ...{ attempts: 9, sinceMs: NOON - HOUR_MS, nextMs: NOON + MINUTE_MS },
}));
const LONG_NAMES = ['a-customer-with-a-long-name', 'of-a-name-that-has-no-place-to-break'.repeat(2)];

const FACTS: Readonly<Record<string, Parameters<typeof statusOf>[0]>> = {
  'nothing read yet': { read: null, nextRuns: [] },
  'all is well': { warehouse },
  'protected, and not in line': {
    keeping: KEEPING,
    accounts: [{ offReasons: { equipments: 'not scheduled' } }],
    rows: {
      cleanings: [
        { stream: 'training-employee-status', progress: 'under_way' },
        { stream: 'equipments', progress: 'due' },
      ],
    },
  },
  'credentials refused': { rows, warehouse, accounts: [{ health }] },
  'database away': {
    rows,
    nowMs: NOON + HOUR_MS,
    warehouse: {
      ...warehouse,
      problem: { code: 'database_unreachable', message: AWAY, advice: SAID, sinceMs: NOON - HOUR_MS },
    },
  },
  'service away': {
    rows,
    accounts: [{ streams: { followups: { isRunning: true }, resources: away }, retries }],
  },
  'several accounts': {
    accounts: LONG_NAMES.map((id) => ({ id, health, streams: { resources: away } })),
    owner: 'a-host-with-a-name-as-orchestrators-give-them-7c9d8f5b6-x2x4q pid 1',
    alerts: { open: 1, failedReports: [], channels: [{ name: 'webhook', waiting: 1, problem: SAID }] },
    keeping: KEEPING,
  },
};

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

it.skipIf(NO_BROWSER !== null)('the status page fits the width of a phone in every state', async () => {
  const file = join(await folderForTest('safety-sync-phone-'), 'phone.html');
  const pages = Object.values(FACTS).map((facts) => renderStatus(statusOf(facts), 'N'));
  await writeFile(file, inFrames(pages));
  const { stdout } = await visit(`file://${file}`, [
    '--hide-scrollbars',
    '--virtual-time-budget=3000',
    '--dump-dom',
  ]);
  const said = /<pre id="said">(.*?)<\/pre>/s.exec(stdout)?.[1] ?? '[]';
  const widths = JSON.parse(said) as string[];
  const names = Object.keys(FACTS);
  expect(names.map((name, index) => [name, widths[index]])).toEqual(names.map((name) => [name, `${PHONE}`]));
});
