import { readdirSync, readFileSync } from 'node:fs';
import { defineConfig } from 'vitest/config';

const SERVER = 'test/support/global-setup.ts';
const PROGRAM = 'test/support/built-cli.ts';
const OPTIMIZE_LATER = 'test/support/optimize-later.ts';
/** Files that hold more cases as a proof: see test/support/proof.ts. */
const GROWING = readdirSync('test', { recursive: true, encoding: 'utf8' })
  .map((name) => `test/${name}`)
  .filter(
    (path) =>
      path.endsWith('.test.ts') && /\/support\/(proof|stream-battery)\.ts'/.test(readFileSync(path, 'utf8')),
  );

const UNIT = [
  'test/*.test.ts',
  'test/{unit,mutation}/**/*.test.ts',
  'test/contract/sandbox-*.test.ts',
  'test/integration/api/*.test.ts',
];
const DATABASE = ['test/{contract,crash,e2e,integration,model}/*.test.ts'];

/**
 * `npm test` runs the project `tests`. `npm run test:proof` runs `proof`: the same promises at size and for hours. `unit` and
 * `database` are halves of `tests`, for use while you work: each project loads the program in workers of its own, so that
 * `tests` as a whole is faster than its halves.
 */
export default defineConfig({
  test: {
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // Longer than Vitest's default of a second, because a busy machine is slower. A condition that is polled becomes true,
    // or the program hangs.
    expect: { poll: { timeout: 45_000 } },
    // One more than two cores, because some tests only wait for timers.
    maxWorkers: 3,
    // Tests that wait for timers run in parallel, two at a time.
    maxConcurrency: 2,
    // The test files of a worker share their imports, because loading the program for each file takes longer than most
    // tests.
    isolate: false,
    reporters: ['default', './test/support/summary-reporter.ts'],
    projects: [
      { extends: true, test: { name: 'unit', setupFiles: [OPTIMIZE_LATER], include: UNIT } },
      {
        extends: true,
        test: {
          name: 'database',
          setupFiles: [OPTIMIZE_LATER],
          include: DATABASE,
          exclude: UNIT,
          globalSetup: [SERVER, PROGRAM],
        },
      },
      {
        extends: true,
        test: {
          name: 'tests',
          setupFiles: [OPTIMIZE_LATER],
          include: [...DATABASE, ...UNIT],
          globalSetup: [SERVER, PROGRAM],
        },
      },
      {
        extends: true,
        test: {
          name: 'proof',
          testTimeout: 300_000,
          include: ['test/**/*.proof.ts', ...GROWING],
          provide: { isProof: true },
          // Some of them measure the memory of their process, or how long something takes.
          isolate: true,
          maxWorkers: 2,
          // Vitest asks for it where the numbers of workers differ.
          sequence: { groupOrder: 1 },
          globalSetup: [SERVER, PROGRAM],
        },
      },
    ],
  },
});
