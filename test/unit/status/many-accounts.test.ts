import { describe, expect, it } from 'vitest';
import { MOST_LABELLED_ACCOUNTS } from '../../../src/operate/status/gauges.ts';
import { createMetrics } from '../../../src/operate/status/metrics.ts';
import { buildStatus, pageOf } from '../../../src/operate/status/build-status.ts';
import type { StatusFacts } from '../../../src/operate/status/status.ts';
import { buildRoutes } from '../../../src/operate/worker/routes.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/shared/time.ts';
import { STREAM_NAMES } from '../../../src/engine/streams/index.ts';
import type { StreamFacts } from '../../../src/operate/status/read-accounts.ts';
import { NOON } from '../../support/test-clock.ts';
import { accountFacts as account, manyFacts as facts } from '../../support/status-facts.ts';

const sights = (change: Partial<StreamFacts> = {}): StreamFacts[] =>
  STREAM_NAMES.map((stream) => ({
    stream,
    lastSuccessMs: NOON - MINUTE_MS,
    watermarkMs: null,
    calculatedMs: null,
    currentUntilMs: null,
    retainedMs: null,
    lastRun: { status: 'succeeded', errorCode: null },
    running: null,
    openIssues: 0,
    isOffered: true,
    ...change,
  }));

/** Accounts `a` and `b`. */
const two = (a = sights(), b = sights(), change?: Parameters<typeof facts>[1]) =>
  facts(
    [
      [account('a'), a],
      [account('b'), b],
    ],
    change,
  );

const stale = () => sights({ lastSuccessMs: NOON - 3 * HOUR_MS });

const openCircuit = {
  stream: 'resources',
  holdsAll: true,
  code: 'token_inactive',
  message: 'resources.list: canary-secret',
  advice: 'Have a new one issued.',
  sinceMs: NOON - HOUR_MS,
  nextTryMs: NOON + 5 * MINUTE_MS,
} as const;

const mixed = (change?: Parameters<typeof facts>[1]) =>
  facts(
    [
      [account('anna'), sights()],
      [account('bert', { refusals: [openCircuit] }), sights()],
      [account('carl'), stale()],
      [account('dora'), sights({ lastRun: { status: 'failed', errorCode: 'delete_guard' } })],
      [account('emil'), []],
    ],
    change,
  );

describe('the status of many accounts', () => {
  it('the overview lists accounts in trouble first and counts the others', () => {
    const overview = buildStatus(mixed());
    expect(overview.accounts.map(({ accountId, verdict }) => [accountId, verdict.level])).toEqual([
      ['bert', 'bad'],
      ['carl', 'bad'],
      ['dora', 'warning'],
      ['emil', 'busy'],
      ['anna', 'good'],
    ]);
    expect(overview.counts).toEqual({ good: 1, busy: 1, warning: 1, bad: 2 });
    // The counts stand beside it.
    expect(overview.verdict).toMatchObject({ sentence: '2 of 5 accounts are unhealthy.', details: [] });
  });

  it('the overview is one sentence if all accounts are fresh', () => {
    const overview = buildStatus(two());
    expect(overview.verdict).toEqual({ level: 'good', sentence: 'Everything is fresh.', details: [] });
  });

  it('the overview counts accounts with a warning while all accounts are fresh', () => {
    const failed = sights({ lastRun: { status: 'failed', errorCode: 'delete_guard' } });
    const { verdict } = buildStatus(two(sights(), failed));
    expect(verdict.sentence).toBe('Everything is fresh, but 1 of 2 accounts has a warning.');
  });

  it('the overview is a warning if alerts do not arrive, also while first syncs are under way', () => {
    const problem = 'the webhook at hooks.example.com: HTTP 404';
    const alerts = {
      open: 1,
      channels: [{ name: 'webhook', waiting: 1, problem }],
      failedReports: [],
    } as const;
    const first = sights({ lastSuccessMs: null, lastRun: null });
    expect(buildStatus(two(sights(), first, { alerts })).verdict).toMatchObject({
      level: 'warning',
      sentence: 'First syncs are under way, but alerts do not arrive.',
    });
  });

  it('the overview of a starting worker shows that it is starting', () => {
    const { verdict, notReady } = buildStatus({ ...two(), worker: 'starting' });
    expect(verdict).toMatchObject({ level: 'busy', sentence: 'Starting.' });
    expect(notReady).toEqual(['the worker is starting']);
  });

  it.each([
    [{ databaseProblem: 'gone' }, 'The database is unreachable.', 'the database is unreachable: gone'],
    [{ seen: null }, 'Starting.', 'the database has not been read yet'],
  ])('a problem of all accounts (%o) is listed once, not for each account', (change, sentence, reason) => {
    const { notReady, accounts, verdict } = buildStatus(mixed(change));
    expect(verdict.sentence).toBe(sentence);
    expect(notReady).toEqual([reason]);
    const own = accounts.flatMap((account) => [...account.notReady, ...account.verdict.details]);
    expect(own.filter((text) => /the database/i.test(text))).toEqual([]);
  });

  it('a page of the overview has the counts of all accounts', () => {
    const part = pageOf(buildStatus(mixed()), 2, 2);
    expect(part.accounts.map(({ accountId }) => accountId)).toEqual(['dora', 'emil']);
    expect(part).toMatchObject({ page: 2, pages: 3, accountCount: 5, counts: { bad: 2 } });
    expect(pageOf(buildStatus(mixed()), 99, 2).page).toBe(3);
  });
});

describe('the endpoints of many accounts', () => {
  const routes = (made: StatusFacts) => {
    return buildRoutes({
      status: () => buildStatus(made),
      statusOfOne: () => Promise.resolve(undefined),
      redact: (text) => text.replaceAll('canary-secret', '[secret]'),
      metrics: createMetrics({ accountIds: made.accounts.map((one) => one.account.id) }),
    });
  };
  const get = async (made: StatusFacts, path: string) => {
    const [name = '', query = ''] = path.split('?');
    const page = await routes(made)[name]?.(new URLSearchParams(query));
    if (page === undefined) throw new Error(`no page ${path}`);
    return { ...page, json: () => JSON.parse(page.body) as Record<string, unknown> };
  };

  it('/readyz stays ready while one account is healthy, and lists accounts in trouble', async () => {
    const page = await get(mixed(), '/readyz');
    expect(page.status).toBe(200);
    expect(page.json()).toMatchObject({ ready: true, reasons: [], accounts: { bad: 2 } });
    const { trouble } = page.json() as { trouble: string[] };
    expect(trouble).toHaveLength(3);
    expect(trouble[0]).toBe(
      'bert: the service refuses the credentials (token_inactive: resources.list: [secret]); next try in 5 min. Have a new one issued',
    );
  });

  it('/readyz is 503 if no account is ready, or if the worker is not', async () => {
    expect(await get(two(stale(), stale()), '/readyz')).toMatchObject({ status: 503 });
    const away = mixed({ databaseProblem: 'gone' });
    expect((await get(away, '/readyz')).json()).toMatchObject({
      ready: false,
      reasons: ['the database is unreachable: gone'],
    });
  });

  it('/healthz is 200 with any problem, and lists the problems', async () => {
    const page = await get(mixed(), '/healthz');
    expect(page.status).toBe(200);
    expect(page.json()).toMatchObject({ status: 'ok' });
    expect(page.json()['problems']).toHaveLength(3);
  });

  it('with thousands of accounts, a page lists the worst fifty, and probes list twenty', async () => {
    const many = facts(
      Array.from({ length: 3_000 }, (_, index) => [account(`a${index}`), index % 2 ? sights() : stale()]),
    );
    const { trouble } = (await get(many, '/readyz')).json() as { trouble: string[] };
    expect(trouble).toHaveLength(21);
    expect(trouble[20]).toBe('and 1,480 accounts more');
    expect((await get(many, '/healthz')).json()['problems']).toHaveLength(21);
    const page = await get(many, '/');
    expect(page.body.match(/href="\?account=/g)).toHaveLength(50);
    expect(page.body).toContain('1,500 of 3,000 accounts are unhealthy.');
    expect(page.body).toContain('page 1 of 60');
    expect((await get(many, '/?page=2.5')).body).toContain('page 2 of 60');
  });

  it('no endpoint shows secrets, or markup from data', async () => {
    const evil = '<script>alert(1)</script>';
    const made = facts([
      [account('a', { refusals: [{ ...openCircuit, message: `${evil} canary-secret` }] }), sights()],
      [account('b'), sights()],
    ]);
    for (const path of ['/', '/api/status', '/readyz', '/healthz']) {
      expect((await get(made, path)).body, path).not.toContain('canary-secret');
    }
    const { body } = await get(made, '/');
    expect(body).toContain('&lt;script&gt;');
    expect(body.match(/<script/g)).toHaveLength(1);
  });

  it('an unknown account is 404', async () => {
    expect(await get(mixed(), '/api/status?account=nobody')).toMatchObject({ status: 404 });
    expect(await get(facts([[account('anna'), sights()]]), '/readyz?account=nobody')).toMatchObject({
      status: 404,
    });
  });

  it('/metrics labels every account, has the state of the queue, and removes series of ended problems', async () => {
    let made = mixed();
    const metrics = createMetrics({ accountIds: ['anna', 'bert', 'carl', 'dora', 'emil'] });
    const text = await metrics.render(buildStatus(made));
    expect(text).toMatch(/^safety_sync_stale\{stream="resources",account="carl"\} 1$/m);
    expect(text).toMatch(/^safety_sync_stale\{stream="resources",account="anna"\} 0$/m);
    expect(text).toMatch(/^safety_sync_credentials_refused\{account="bert"\} 1$/m);
    expect(text).toMatch(/^safety_sync_accounts\{state="bad"\} 2$/m);
    expect(text).toMatch(/^safety_sync_runs_waiting 2$/m);
    expect(text).toMatch(
      /^safety_sync_runs_total\{stream="resources",kind="sync",status="failed",account="emil"\} 0$/m,
    );
    made = facts([
      [account('anna'), sights()],
      [account('carl'), sights()],
    ]);
    expect(await metrics.render(buildStatus(made))).not.toMatch(/_refused\{account="bert"\}/);
    metrics.close();
  });

  it('/metrics of thousands of accounts has series only for accounts in trouble', async () => {
    const count = MOST_LABELLED_ACCOUNTS + 1;
    const made = facts(
      Array.from({ length: count }, (_, index) => [account(`a${index}`), index === 7 ? stale() : sights()]),
    );
    const metrics = createMetrics({
      accountIds: made.accounts.map((one) => one.account.id),
    });
    const text = await metrics.render(buildStatus(made));
    expect(text.match(/^safety_sync_stale\{/gm)).toHaveLength(STREAM_NAMES.length);
    expect(text).toMatch(/^safety_sync_stale\{stream="resources",account="a7"\} 1$/m);
    expect(text).toMatch(
      /^safety_sync_runs_total\{stream="resources",kind="sync",status="failed",account=""\} 0$/m,
    );
    metrics.close();
  });
});
