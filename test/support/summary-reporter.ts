import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/**
 * Prints one plain last line for people and scripts: `N passed, N failed`. Failures outside of tests (a file that does not load, a hook, an unhandled rejection) count as one
 * failure each, so that they are not overlooked.
 */
export default class SummaryReporter implements Reporter {
  #passed = 0;
  #failed = 0;
  #skipped = 0;

  onInit(): void {
    // Printed on exit, because other reporters and the closing of the database may print after the end of the run.
    process.once('exit', (code) => {
      // No test ran, or code outside of the tests failed.
      const failed = code !== 0 && this.#failed === 0 ? 1 : this.#failed;
      const skipped = this.#skipped > 0 ? `, ${this.#skipped} skipped` : '';
      process.stdout.write(`${this.#passed} passed, ${failed} failed${skipped}\n`);
    });
  }

  onTestRunEnd(testModules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    this.#passed = 0;
    this.#failed = unhandledErrors.length;
    this.#skipped = 0;
    for (const module of testModules) {
      this.#failed += module.errors().length;
      for (const suite of module.children.allSuites()) this.#failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') this.#passed += 1;
        else if (state === 'failed') this.#failed += 1;
        else this.#skipped += 1;
      }
    }
  }
}
