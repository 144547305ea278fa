/** Runs one work item after the other. After a failure no further item runs, and every promise fails with it. */
import { ignoreRejection } from '../../shared/ignore-rejection.ts';

interface SerialQueue {
  /** Runs `work` when all earlier work is complete. */
  add(work: () => Promise<void>): Promise<void>;
  /** Resolves when all work that was added so far is complete. */
  readonly done: Promise<void>;
  readonly isIdle: boolean;
}

export function createSerialQueue(): SerialQueue {
  let done: Promise<void> = Promise.resolve();
  let waiting = 0;
  return {
    add(work) {
      waiting += 1;
      done = ignoreRejection(done.then(work).finally(() => (waiting -= 1)));
      return done;
    },
    get done() {
      return done;
    },
    get isIdle() {
      return waiting === 0;
    },
  };
}
