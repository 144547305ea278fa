import { defineConfig } from 'vitest/config';

/** Without a time limit: see `soak.ts`. */
export default defineConfig({
  test: {
    include: ['test/model/soak.run.ts', 'test/crash/soak.run.ts'],
    globalSetup: ['test/support/global-setup.ts', 'test/support/built-cli.ts'],
    testTimeout: 0,
    hookTimeout: 0,
    disableConsoleIntercept: true,
    reporters: [['default', { summary: false }]],
  },
});
