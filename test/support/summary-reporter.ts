import type { SerializedError } from 'vitest';
import type { Reporter, TestModule } from 'vitest/node';

/** Tests of code conventions: import directions, names of files, and the list of breaks. */
const FORM = /^test\/(architecture\.test|mutation\/)/;
/** Tests of documents, of files for operations, and of examples in them. */
const DOCUMENTS =
  /^test\/(docs|generated-docs|operations-files|integration\/(generated-docs|questions|dbt))\.test/;

const kindOf = (file: string): Kind =>
  FORM.test(file) ? 'form' : DOCUMENTS.test(file) ? 'documents' : 'behaviour';

type Kind = 'behaviour' | 'form' | 'documents';

/**
 * Prints how many tests of behaviour, form and documents passed, and one plain last line for people and scripts:
 * `N passed, N failed`. Failures outside of tests (a file that does not load, a hook, an unhandled rejection) count as one
 * failure each, so that they are not overlooked.
 */
export default class SummaryReporter implements Reporter {
  #passed = 0;
  #failed = 0;
  #skipped = 0;
  #kinds = { behaviour: 0, form: 0, documents: 0 };

  onInit(): void {
    // Printed on exit, because other reporters and the closing of the database may print after the end of the run.
    process.once('exit', (code) => {
      // No test ran, or code outside of the tests failed.
      const failed = code !== 0 && this.#failed === 0 ? 1 : this.#failed;
      const skipped = this.#skipped > 0 ? `, ${this.#skipped} skipped` : '';
      const kinds = Object.entries(this.#kinds).map(([kind, count]) => `${count} of ${kind}`);
      process.stdout.write(`passed tests: ${kinds.join(', ')}\n`);
      process.stdout.write(`${this.#passed} passed, ${failed} failed${skipped}\n`);
    });
  }

  onTestRunEnd(testModules: readonly TestModule[], unhandledErrors: readonly SerializedError[]): void {
    this.#passed = 0;
    this.#failed = unhandledErrors.length;
    this.#skipped = 0;
    this.#kinds = { behaviour: 0, form: 0, documents: 0 };
    for (const module of testModules) {
      this.#failed += module.errors().length;
      for (const suite of module.children.allSuites()) this.#failed += suite.errors().length;
      for (const test of module.children.allTests()) {
        const { state } = test.result();
        if (state === 'passed') {
          this.#passed += 1;
          this.#kinds[kindOf(module.relativeModuleId)] += 1;
        } else if (state === 'failed') this.#failed += 1;
        else this.#skipped += 1;
      }
    }
  }
}
