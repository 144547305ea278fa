import { beforeEach, expect, it } from 'vitest';
import { type AppFixture, startAppFixture } from '../support/app-fixture.ts';
import { NO_BROWSER, visit } from '../support/browser.ts';
import { forEachTest } from '../support/lifetime.ts';
import { STREAM_NAMES } from '../../src/engine/streams/index.ts';
import { createTestWorker } from '../support/world.ts';

const EVIL = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`;

const worker = forEachTest(() => createTestWorker());
let fixture: AppFixture;

beforeEach(async () => {
  await worker.runAll();
  await worker.query(`insert into safety_sync.data_issues (account_id, stream, fingerprint, kind, problem, field)
    values ('default', 'followups', 'x', 'field_nulled', '${EVIL.replaceAll("'", "''")}', 'due')`);
  fixture = await startAppFixture(worker, { env: { SYNC_CRON: '0 0 1 1 *' } });
});

it('the status page shows the state, and markup in data is shown as text', async () => {
  await expect.poll(async () => (await fetch(`${fixture.url}/readyz`)).status, { timeout: 10_000 }).toBe(200);
  if (NO_BROWSER !== null) {
    const page = await (await fetch(fixture.url)).text();
    expect(page).toMatch(/<h1>\s*Everything is fresh\.\s*<\/h1>/);
    expect(page).not.toContain(EVIL);
    return;
  }
  const { stdout: dom, complaints } = await visit(`${fixture.url}/`);
  expect(complaints).toBe('');
  expect(dom).toMatch(/<h1>\s*Everything is fresh\.\s*<\/h1>/);
  expect(dom).toMatch(/<title>\s*✓ Everything is fresh\. Account default\s*<\/title>/);
  expect(dom).toContain('&lt;script&gt;document.title');
  for (const stream of STREAM_NAMES) expect(dom).toContain(`<span title="${stream}">`);
});
