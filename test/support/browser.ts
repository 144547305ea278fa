/** A real headless browser, if this machine has one. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const CHROMIUM = process.env['TEST_CHROMIUM'] ?? '/usr/bin/chromium';
const SWITCHES = [
  ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  ...['--disable-dev-shm-usage', '--enable-logging=stderr', '--dump-dom'],
];

/** Why there is no browser; null: there is one. */
export const NO_BROWSER = existsSync(CHROMIUM) ? null : `no browser at ${CHROMIUM}: set TEST_CHROMIUM to one`;

interface Visit {
  readonly stdout: string;
  /** Messages of the page's console. */
  readonly complaints: string;
}

/** Prints the page's DOM to stdout. */
export async function visit(url: string): Promise<Visit> {
  const profile = await mkdtemp(join(tmpdir(), 'safety-sync-chromium-'));
  try {
    const { stdout, stderr } = await promisify(execFile)(
      CHROMIUM,
      [...SWITCHES, `--user-data-dir=${profile}`, url],
      { timeout: 25_000, maxBuffer: 10_000_000 },
    );
    const complaints = stderr.split('\n').filter((line) => line.includes('CONSOLE'));
    return { stdout, complaints: complaints.join('\n') };
  } finally {
    await rm(profile, { recursive: true, force: true });
  }
}
