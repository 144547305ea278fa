/**
 * `npm run mutation`: applies each deliberate break to a copy of the tree and says whether the tests notice it.
 * `npm run mutation -- --only watermark` takes the breaks whose description holds that text, `--shard 1/2` every second one.
 * A break counts as caught when a test fails that passes without it. Everything else is exit code 1: no test failed, the
 * tests did not run (no database, a timeout, a full disk) or fail without it, it does not compile, its place was not found.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { type Mutation, MUTATIONS } from './mutations.ts';
import { createTypeCheck } from './type-errors.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const COPIED = [
  'src',
  'test',
  'migrations',
  'docs',
  'docker-compose.yml',
  'Dockerfile',
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'package.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'vitest.config.ts',
];
const MOST_MS = 300_000;

interface TestRun {
  readonly isGreen: boolean;
  readonly passed: number;
  /** Whether a test failed, or a hook of it. A file that cannot be loaded has no tests in the report. */
  readonly hasFailedTest: boolean;
  /** The end of what it printed. */
  readonly end: string;
}

/** The parts of Vitest's JSON report that are read. */
interface Report {
  readonly numPassedTests: number;
  readonly testResults: readonly { readonly status: string; readonly assertionResults: readonly unknown[] }[];
}

function runTests(tree: string, { tests, names }: Mutation): TestRun {
  const report = join(tree, 'report.json');
  rmSync(report, { force: true });
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      'node_modules/vitest/vitest.mjs',
      'run',
      '--bail=1',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${report}`,
      ...tests,
      ...(names === undefined ? [] : ['-t', names]),
    ],
    {
      cwd: tree,
      env: { ...process.env, NO_COLOR: '1' },
      encoding: 'utf8',
      maxBuffer: 2 ** 28,
      timeout: MOST_MS,
    },
  );
  // Without a report the run was cut off or did not begin.
  const { numPassedTests, testResults } = existsSync(report)
    ? (JSON.parse(readFileSync(report, 'utf8')) as Report)
    : { numPassedTests: 0, testResults: [] };
  return {
    isGreen: status === 0,
    passed: numPassedTests,
    hasFailedTest: testResults.some((file) => file.status === 'failed' && file.assertionResults.length > 0),
    end: `${stdout}${stderr}`.trim().split('\n').slice(-12).join('\n'),
  };
}

const typeErrorOf = createTypeCheck();
/** By tests and filter: many breaks are noticed by the same tests. */
const unbroken = new Map<string, TestRun>();

interface Verdict {
  readonly verdict: 'caught' | 'NOT CAUGHT' | 'not run' | 'does not compile' | 'place not found';
  /** Why, where it is about the tests or the break itself. */
  readonly why?: string;
}

function tryMutation(tree: string, mutation: Mutation): Verdict {
  const { file, search, replace, tests, names } = mutation;
  const path = join(tree, file);
  const original = readFileSync(path, 'utf8');
  if (original.split(search).length !== 2) return { verdict: 'place not found' };
  const typeError = typeErrorOf(mutation);
  if (typeError !== null) return { verdict: 'does not compile', why: typeError };
  const key = JSON.stringify([tests, names]);
  const whole = unbroken.get(key) ?? runTests(tree, mutation);
  unbroken.set(key, whole);
  if (!whole.isGreen || whole.passed === 0) {
    return { verdict: 'not run', why: `The tests do not pass without the break:\n${whole.end}` };
  }
  writeFileSync(
    path,
    original.replace(search, () => replace),
  );
  try {
    const broken = runTests(tree, mutation);
    if (broken.hasFailedTest) return { verdict: 'caught' };
    return broken.isGreen ? { verdict: 'NOT CAUGHT' } : { verdict: 'not run', why: broken.end };
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
  let missed = 0;
  for (const mutation of chosen) {
    const startedMs = performance.now();
    const { verdict, why } = tryMutation(tree, mutation);
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
