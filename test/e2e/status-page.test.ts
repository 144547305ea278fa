import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type AppStage, startAppStage } from '../support/app-stage.ts';
import { createTestWorker, type TestWorker } from '../support/worker.ts';

const CHROMIUM = process.env['TEST_CHROMIUM'] ?? '/usr/bin/chromium';
const EVIL = `<script>document.title='owned'</script><img src=x onerror="document.title='owned'">`;

let worker: TestWorker;
let stage: AppStage;

beforeEach(async () => {
  worker = await createTestWorker();
  await worker.runAll();
  await worker.query(`insert into safety_sync.data_issues (account_id, stream, fingerprint, kind, problem, field)
    values ('default', 'followups', 'x', 'field_nulled', '${EVIL.replaceAll("'", "''")}', 'due')`);
  stage = await startAppStage(worker, { env: { SYNC_CRON: '0 0 1 1 *' } });
});

afterEach(async () => {
  await stage.stop();
  await worker.close();
});

/** The document after load and one refresh, and what the browser complained of. */
async function browse(url: string): Promise<{ dom: string; complaints: string }> {
  const profile = await mkdtemp(join(tmpdir(), 'safety-sync-chromium-'));
  const switches = [
    ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
    ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
    ...['--disable-dev-shm-usage', '--enable-logging=stderr', '--virtual-time-budget=11000', '--dump-dom'],
  ];
  try {
    const { stdout, stderr } = await promisify(execFile)(
      CHROMIUM,
      [...switches, `--user-data-dir=${profile}`, url],
      {
        timeout: 25_000,
        maxBuffer: 10_000_000,
      },
    );
    return {
      dom: stdout,
      complaints: stderr
        .split('\n')
        .filter((line) => line.includes('CONSOLE'))
        .join('\n'),
    };
  } finally {
    await rm(profile, { recursive: true, force: true });
  }
}

it('shows how it stands, and what data says stays text', async () => {
  await expect.poll(async () => (await fetch(`${stage.url}/readyz`)).status, { timeout: 10_000 }).toBe(200);
  if (!existsSync(CHROMIUM)) {
    const page = await (await fetch(stage.url)).text();
    expect(page).toMatch(/<h1>\s*Everything is fresh\.\s*<\/h1>/);
    expect(page).not.toContain(EVIL);
    return;
  }
  const { dom, complaints } = await browse(`${stage.url}/`);
  expect(complaints).toBe('');
  expect(dom).toMatch(/<h1>\s*Everything is fresh\.\s*<\/h1>/);
  expect(dom).toMatch(/<title>\s*✓ Everything is fresh\. default\s*<\/title>/);
  expect(dom).toContain('&lt;script&gt;document.title');
  expect(dom).toMatch(/<p id="lost" role="alert" hidden=""/);
  expect(dom.match(/<article class="card">/g)).toHaveLength(5);
});
