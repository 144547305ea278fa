import { defineConfig } from 'vitest/config';

/** Tests of the pure folders, for `npm run mutation:pure`. They need neither PostgreSQL nor processes. */
export default defineConfig({
  test: {
    testTimeout: 60_000,
    isolate: false,
    include: [
      'test/unit/{config,loading,shared,status,streams}/*.test.ts',
      'test/unit/{cli/output,labels/labels-file,worker/account-health,worker/monitor}.test.ts',
    ],
    // It changes the user of the process, which a thread of Stryker's cannot do.
    exclude: ['test/unit/shared/write-whole-file.test.ts'],
  },
});
