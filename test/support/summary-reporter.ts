import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/**
 * One plain last line for people and scripts: `N passed, N failed`. What fails outside of a test (a file that does
 * not load, a hook, a rejected promise that nobody awaits) counts as one failure each: it must not look green.
 */
export default class SummaryReporter implements Reporter {
  #line: string | undefined;

  onInit(): void {
    // On exit, because other reporters and the closing of the database may print after the run's end.
    process.once('exit', () => {
      if (this.#line !== undefined) process.stdout.write(`${this.#line}\n`);
    });
  }

  onTestRunEnd(testModules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    let passed = 0;
    let failed = unhandledErrors.length;
    let skipped = 0;
    for (const module of testModules) {
      failed += module.errors().length;
      for (const suite of module.children.allSuites()) failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') passed += 1;
        else if (state === 'failed') failed += 1;
        else skipped += 1;
      }
    }
    this.#line = `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
  }
}
