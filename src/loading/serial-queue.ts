/** Does one work after the other. After a failure nothing more is done, and every promise fails with it. */
import { meetLater } from '../shared/meet-later.ts';

interface SerialQueue {
  /** Does `work` when all that was added before is done. */
  add(work: () => Promise<void>): Promise<void>;
  /** All that was added so far. */
  readonly done: Promise<void>;
  readonly isIdle: boolean;
}

export function createSerialQueue(): SerialQueue {
  let done: Promise<void> = Promise.resolve();
  let waiting = 0;
  return {
    add(work) {
      waiting += 1;
      done = meetLater(done.then(work).finally(() => (waiting -= 1)));
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
