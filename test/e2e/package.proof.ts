/** The package as `npm pack` makes it, in a folder without a checkout. */
import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const MODULES = join(ROOT, 'node_modules');
const MOST_BYTES = 700_000;

const folder = mkdtempSync(join(tmpdir(), 'safety-sync-package-'));
const copy = join(folder, 'checkout');
const empty = join(folder, 'empty');
const program = join(empty, 'node_modules', 'safety-sync', 'dist', 'main.js');

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly files: readonly { readonly path: string }[];
}
let packed: Packed;

async function run(file: string, args: readonly string[], cwd: string): Promise<string> {
  return (await promisify(execFile)(file, args, { maxBuffer: 2 ** 26, cwd })).stdout;
}

beforeAll(async () => {
  // Packing replaces dist for a moment, and other tests run what is there.
  const left = new Set(['node_modules', '.git', 'dist', '.data', 'release'].map((name) => join(ROOT, name)));
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !left.has(path) });
  symlinkSync(MODULES, join(copy, 'node_modules'));
  [packed] = JSON.parse(await run('npm', ['pack', '--json'], copy)) as [Packed];

  // As npm installs it: beside the packages that it names, and no others.
  const installed = join(empty, 'node_modules', 'safety-sync');
  mkdirSync(installed, { recursive: true });
  await run('tar', ['-xzf', join(copy, packed.filename), '--strip-components=1', '-C', installed], empty);
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.optionalDependencies })) {
    mkdirSync(join(empty, 'node_modules', name, '..'), { recursive: true });
    symlinkSync(join(MODULES, name), join(empty, 'node_modules', name));
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

it('the package is small and contains the program, its migrations and every document that README links, but no tests, test data, sources or snapshots', () => {
  expect(packed.size).toBeLessThan(MOST_BYTES);
  const paths = packed.files.map(({ path }) => path);
  const others = paths.filter((path) => !/^(?:dist\/[\w-]+\.js|migrations\/.*\.sql|docs\/.*)$/.test(path));
  expect(others.toSorted()).toEqual([
    '.env.example',
    'CHANGELOG.md',
    'CONTRIBUTING.md',
    'LICENSE',
    'README.md',
    'docker-compose.yml',
    'migrations/meta/_journal.json',
    'package.json',
  ]);
  const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');
  const linked = [...readme.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, path]) => path ?? '');
  expect(linked.filter((path) => !paths.includes(path))).toEqual([]);
  for (const path of paths.filter((one) => one.endsWith('.js')))
    expect(readFileSync(join(empty, 'node_modules', 'safety-sync', path), 'utf8'), path).not.toContain(
      'node_modules/',
    );
});

it('the package runs in an empty folder: every file loads with the declared packages, and the demo works', async () => {
  const execute = (...args: string[]) => run(process.execPath, args, empty);
  // Alone, main.js would run.
  const files = readdirSync(join(program, '..')).filter((name) => name !== 'main.js');
  expect(files.length).toBeGreaterThan(30);
  const loading = files.map((name) => `await import('./node_modules/safety-sync/dist/${name}');`);
  await execute('--input-type=module', '--eval', loading.join('\n'));
  expect(await execute(program, '--version')).toBe(`${manifest.version}\n`);
  expect(await execute(program, '--help')).toContain('see it work without any configuration');
  expect(await execute(program, 'demo')).toContain('What the warehouse can answer');
  expect(readFileSync(join(empty, '.data', 'safety-report.html'), 'utf8')).toContain('<svg');
});
