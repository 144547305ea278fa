/** Draws docs/report.png, the first screen of the demo's report. Usage: node .ci/picture.mjs [PAGE]; without a page the demo runs. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import process from 'node:process';

const root = resolve(import.meta.dirname, '..');
const picture = join(root, 'docs/report.png');
const MOST_BYTES = 200_000;
const NAMES = [process.env['CHROMIUM'], 'chromium', 'chromium-browser', 'google-chrome'];
const browser = NAMES.find((name) => name && spawnSync(name, ['--version']).status === 0);
if (browser === undefined) {
  process.stderr.write('There is no Chromium: install it, or set CHROMIUM to its path.\n');
  process.exit(1);
}
const folder = mkdtempSync(join(tmpdir(), 'safety-sync-picture-'));
try {
  const [, , given] = process.argv;
  if (given === undefined) {
    const env = { PATH: process.env['PATH'], HOME: folder };
    const demo = spawnSync(process.execPath, [join(root, 'dist/main.js'), 'demo'], {
      cwd: folder,
      env,
      stdio: 'inherit',
    });
    if (demo.status !== 0) process.exit(1);
  }
  const page = given === undefined ? join(folder, '.data/safety-report.html') : resolve(given);
  const flags = [
    '--headless',
    '--no-sandbox',
    '--disable-gpu',
    '--hide-scrollbars',
    `--user-data-dir=${join(folder, 'browser')}`,
  ];
  const drawn = spawnSync(
    browser,
    [
      ...flags,
      '--force-device-scale-factor=0.8',
      '--window-size=1200,872',
      `--screenshot=${picture}`,
      `file://${page}`,
    ],
    { stdio: 'ignore' },
  );
  const { size } = statSync(picture);
  process.stdout.write(`${picture}: ${size} bytes\n`);
  process.exitCode = drawn.status === 0 && size < MOST_BYTES ? 0 : 1;
} finally {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}
