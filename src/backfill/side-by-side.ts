/** Several readers side by side, as one. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { RecordsStep, Steps } from '../reading/step.ts';

interface SideBySide {
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

/** While nothing comes, it is said again this often. */
const IDLE_MS = 100;

/**
 * Yields the steps in the order in which they come. Each reader is one step ahead of whoever takes them: it asks while the
 * steps of others are stored, and says so while none has anything ready. The first failure ends all: no further step is asked
 * for, what is ready is still yielded. What was yielded is committed at the end, also before a failure is thrown.
 */
export async function* readSideBySide({ width, next, abort }: SideBySide): Steps {
  const running = new Set<Reader>();
  const ready: Result[] = [];
  let wake: () => void = () => undefined;
  let failure: { readonly error: unknown } | undefined;

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

  /** Of a result, or of the time to say once more that none has come. */
  async function arrival(): Promise<void> {
    if (ready.length > 0) return;
    let timer: NodeJS.Timeout | undefined;
    await new Promise<void>((resolve) => {
      wake = resolve;
      timer = setTimeout(resolve, IDLE_MS);
    });
    clearTimeout(timer);
  }

  for (;;) {
    while (failure === undefined && running.size + ready.length < width) {
      const reader = next();
      if (reader === undefined) break;
      ask(reader);
    }
    // Whatever arrived while the last step was stored is taken first.
    if (ready.length === 0) await nextTurn();
    if (ready.length === 0 && running.size > 0) {
      yield { kind: 'idle' };
      await arrival();
      continue;
    }
    const result = ready.shift();
    if (result === undefined) {
      yield { kind: 'commit' };
      if (failure === undefined) return;
      throw failure.error;
    }
    if ('error' in result) {
      // Those that fail after it were aborted.
      if (failure === undefined) abort();
      failure ??= { error: result.error };
    } else if (result.step.done !== true) {
      if (failure === undefined) ask(result.reader);
      yield result.step.value;
    }
  }
}
