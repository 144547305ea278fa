/**
 * `npm run mutation`: applies each deliberate break to a copy of the tree and prints whether the tests detect it.
 * `npm run mutation -- --only watermark` takes the breaks with that text in their description. Every break that no test fails
 * for is exit code 1, also because its tests did not run.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NOT_COPIED = ['.git', 'node_modules', '.data'];
const MOST_MS = 1_800_000;

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });
const chosen = MUTATIONS.filter(({ breaks }) => breaks.includes(values.only));
// Without files Vitest would run all tests.
if (chosen.length === 0) throw new RangeError(`no break has the text ${values.only}`);
const tree = mkdtempSync(join(tmpdir(), 'safety-sync-mutation-'));

/** `tests`: each as a file, or as `file > part of a name`. Returns how many tests failed, at most `bail`; Vitest must have run. */
function countFailed(tests: readonly string[], bail = 0): number {
  const files = tests.map((test) => test.replace(/ > .*/, ''));
  const names = tests.flatMap((test) => test.split(' > ')[1] ?? []);
  const report = join(tree, 'report.json');
  rmSync(report, { force: true });
  const { stdout, stderr } = spawnSync(
    process.execPath,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', '--reporter=default', '--reporter=json'],
      // Every test is in one of these two projects; without them a test of `tests` runs in its half, too.
      ...['--project=tests', '--project=proof', `--outputFile.json=${report}`, ...new Set(files)],
      ...(names.length < tests.length ? [] : ['-t', names.join('|')]),
      // A test that waits for what a break prevents takes minutes, and one that fails suffices.
      `--bail=${bail}`,
    ],
    { cwd: tree, encoding: 'utf8', maxBuffer: 2 ** 28, timeout: MOST_MS },
  );
  try {
    const { numFailedTests: failed, numPassedTests: passed } = JSON.parse(readFileSync(report, 'utf8')) as {
      readonly numFailedTests: number;
      readonly numPassedTests: number;
    };
    if (failed + passed > 0) return failed;
  } catch {
    // There is no report, because the run was cut off or did not begin.
  }
  throw new Error(`the tests did not run:\n${`${stdout}${stderr}`.slice(-2000)}`);
}

let missed = 0;
try {
  for (const name of readdirSync(ROOT))
    if (!NOT_COPIED.includes(name)) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  const failed = countFailed(chosen.flatMap(({ tests }) => tests.map((test) => test.replace(/ > .*/, ''))));
  if (failed > 0) throw new Error(`${failed} tests fail without a break`);
  for (const { file, search, replace, tests, invariant, breaks } of chosen) {
    const path = join(tree, file);
    const original = readFileSync(path, 'utf8');
    writeFileSync(
      path,
      original.replace(search, () => replace),
    );
    const isCaught = countFailed(tests, 1) > 0;
    writeFileSync(path, original);
    if (!isCaught) missed += 1;
    process.stdout.write(`${isCaught ? 'caught' : 'NOT CAUGHT'}: ${invariant}. ${breaks}\n`);
  }
  process.stdout.write(`${chosen.length - missed} of ${chosen.length} breaks caught\n`);
} finally {
  rmSync(tree, { recursive: true, force: true });
}
process.exitCode = missed === 0 ? 0 : 1;
