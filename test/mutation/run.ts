/**
 * `npm run mutation`: applies each deliberate break to a copy of the tree and prints whether the tests detect it.
 * `npm run mutation -- --only watermark` takes the breaks with that text in their description, `--shard 1/2` every second one.
 * A break counts as caught when a test fails that passes without it. Every other result is exit code 1: no test failed, the
 * tests did not run (no database, a timeout, a full disk) or fail without it, its place was not found.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Mutation, MUTATIONS } from './mutations.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'src',
  'test',
  'migrations',
  'docs',
  '.env.example',
  '.prettierrc.json',
  'docker-compose.yml',
  'Dockerfile',
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'package.json',
  'tsconfig.json',
  '.ci',
  'vitest.config.ts',
];
const MOST_MS = 300_000;
/** All test files that the list names, in one run. */
const MOST_UNBROKEN_MS = 1_800_000;

interface TestRun {
  readonly isGreen: boolean;
  /** Tests that passed, as file and full name. */
  readonly passed: ReadonlySet<string>;
  /** Tests that failed. Where a hook of a file failed: all of that file. A file that cannot be loaded has none. */
  readonly failed: readonly string[];
  /** The end of the output. */
  readonly end: string;
}

/** The parts of Vitest's JSON report that are read. */
interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly status: string; readonly fullName: string }[];
  }[];
}

/** `tests`: each as a file, or as `file > part of a name`. */
function runTests(tree: string, tests: readonly string[], timeoutMs: number): TestRun {
  const chosen = tests.map((test) => test.split(' > '));
  const files = chosen.flatMap(([file = '']) => file);
  const names = chosen.flatMap(([, name]) => name ?? []);
  const report = join(tree, 'report.json');
  rmSync(report, { force: true });
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      // Every test is in one of these two projects; without them a test of `tests` runs in its half, too.
      '--project=tests',
      '--project=proof',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...files,
      ...(names.length < tests.length ? [] : ['-t', names.join('|')]),
    ],
    {
      cwd: tree,
      env: { ...process.env, NO_COLOR: '1' },
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      timeout: timeoutMs,
    },
  );
  // Without a report the run was cut off or did not begin.
  const { testResults } = existsSync(report)
    ? (JSON.parse(readFileSync(report, 'utf8')) as Report)
    : { testResults: [] };
  const passed = new Set<string>();
  const failed: string[] = [];
  for (const file of testResults) {
    const results = file.assertionResults.map((one) => ({
      ...one,
      id: `${relative(tree, file.name)} ${one.fullName}`,
    }));
    for (const { status: result, id } of results) if (result === 'passed') passed.add(id);
    const failures = results.filter((one) => one.status === 'failed');
    if (file.status === 'failed')
      failed.push(...(failures.length > 0 ? failures : results).map(({ id }) => id));
  }
  return {
    isGreen: status === 0,
    passed,
    failed,
    end: `${stdout}${stderr}`.trim().split('\n').slice(-12).join('\n'),
  };
}

interface Verdict {
  readonly verdict: 'caught' | 'NOT CAUGHT' | 'not run' | 'place not found';
  /** Why, where it is about the tests or the break itself. */
  readonly why?: string;
}

function tryMutation(tree: string, mutation: Mutation, unbroken: TestRun): Verdict {
  const { file, search, replace, tests } = mutation;
  const path = join(tree, file);
  const original = readFileSync(path, 'utf8');
  if (original.split(search).length !== 2) return { verdict: 'place not found' };
  writeFileSync(
    path,
    original.replace(search, () => replace),
  );
  try {
    const broken = runTests(tree, tests, MOST_MS);
    if (broken.failed.some((id) => unbroken.passed.has(id))) return { verdict: 'caught' };
    if (broken.isGreen && broken.passed.size > 0) return { verdict: 'NOT CAUGHT' };
    return { verdict: 'not run', why: broken.end };
  } finally {
    writeFileSync(path, original);
  }
}

const { values } = parseArgs({ options: { only: { type: 'string' }, shard: { type: 'string' } } });
const [shard = 1, shards = 1] = values.shard?.split('/').map(Number) ?? [];
const tree = mkdtempSync(join(tmpdir(), 'safety-sync-mutation-'));
try {
  for (const name of COPIED) cpSync(join(ROOT, name), join(tree, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(tree, 'node_modules'));
  const chosen = MUTATIONS.filter(({ breaks }) => breaks.includes(values.only ?? '')).filter(
    (_, index) => index % shards === shard - 1,
  );
  // Without files Vitest would run all tests.
  if (chosen.length === 0) throw new RangeError(`no break has the text ${values.only ?? ''}`);
  const files = chosen.flatMap(({ tests }) => tests.map((test) => test.replace(/ > .*/, '')));
  const tests = [...new Set(files)];
  const unbroken = runTests(tree, tests, MOST_UNBROKEN_MS);
  process.stdout.write(`without a break ${unbroken.passed.size} tests of ${tests.length} files pass\n`);
  if (!unbroken.isGreen) process.stdout.write(`${unbroken.end}\n`);
  let missed = 0;
  for (const mutation of chosen) {
    const startedMs = performance.now();
    const { verdict, why } = tryMutation(tree, mutation, unbroken);
    if (verdict !== 'caught') missed += 1;
    const seconds = Math.round((performance.now() - startedMs) / 1000);
    process.stdout.write(`${verdict}: ${mutation.invariant}. ${mutation.breaks} (${seconds} s)\n`);
    if (why !== undefined) process.stdout.write(`${why}\n`);
  }
  process.stdout.write(`${chosen.length - missed} of ${chosen.length} breaks caught\n`);
  process.exitCode = missed === 0 ? 0 : 1;
} finally {
  rmSync(tree, { recursive: true, force: true });
}
