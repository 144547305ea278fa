/** Several readers side by side, as one. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordsStep, Steps } from '../reading/step.ts';

export interface SideBySide {
  /** Readers at one time. */
  readonly width: number;
  /** The next reader to begin; undefined: there is none now. Asked again whenever one has ended. */
  readonly next: () => AsyncGenerator<RecordsStep, void, undefined> | undefined;
  /** Ends the requests of all readers, which are of no use any more. */
  readonly abort: () => void;
}

type Reader = AsyncGenerator<RecordsStep, void, undefined>;
type Result =
  | { readonly reader: Reader; readonly step: IteratorResult<RecordsStep, void> }
  | { readonly reader: Reader; readonly error: unknown };

/**
 * Yields the steps in the order in which they come. Each reader is one step ahead of whoever takes them: it asks while the
 * steps of others are stored, and says so when none has anything ready. The first failure ends all: no further step is asked
 * for, what is ready is still yielded and committed, then it is thrown.
 */
export async function* readSideBySide({ width, next, abort }: SideBySide): Steps {
  const running = new Set<Reader>();
  const ready: Result[] = [];
  let wake: () => void = () => undefined;
  let failure: { readonly error: unknown } | undefined;
  let isUncommitted = false;

  function ask(reader: Reader): void {
    running.add(reader);
    const arrive = (result: Result): void => {
      running.delete(reader);
      ready.push(result);
      wake();
    };
    reader.next().then(
      (step) => arrive({ reader, step }),
      (error: unknown) => arrive({ reader, error }),
    );
  }

  for (;;) {
    while (failure === undefined && running.size + ready.length < width) {
      const reader = next();
      if (reader === undefined) break;
      ask(reader);
    }
    // Whatever arrived while the last step was stored is taken first.
    if (ready.length === 0) await nextTurn();
    const result = ready.shift();
    if (result === undefined) {
      if (running.size > 0) {
        const woken = new Promise<void>((resolve) => (wake = resolve));
        if (isUncommitted) yield { kind: 'idle' };
        isUncommitted = false;
        await woken;
      } else {
        if (failure === undefined) return;
        yield { kind: 'commit' };
        throw failure.error;
      }
    } else if ('error' in result) {
      // Those that fail after it were aborted.
      if (failure === undefined) abort();
      failure ??= { error: result.error };
    } else if (result.step.done !== true) {
      if (failure === undefined) ask(result.reader);
      isUncommitted = true;
      yield result.step.value;
    }
  }
}
