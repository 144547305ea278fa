import { EnvelopeScanner } from './envelope-scanner.ts';
import type { ListFound } from './envelope-scanner.ts';
import { ListScanner } from './list-scanner.ts';

/** What an answer was, told at its end. */
export interface CutAnswer {
  /** The whole answer, its list as an empty array. */
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly listFound: ListFound;
  readonly count: number;
}

export interface ElementCutter {
  /** Reads on. Throws AnswerDefect as soon as the answer cannot become a usable one. */
  push(chunk: Buffer): void;
  /** Elements of the list that ended since the last call. */
  take(): unknown[];
  /** Throws AnswerDefect when the answer has not ended yet. */
  end(): CutAnswer;
}

/**
 * Cuts the elements of the top-level array `listKey` out of a JSON answer as its bytes arrive, so that an answer of
 * any size needs the memory of one chunk and one element. Without a key everything is envelope.
 */
export function createElementCutter(listKey: string | undefined): ElementCutter {
  const envelope = new EnvelopeScanner(listKey);
  let list: ListScanner | undefined;
  let elements: unknown[] = [];
  let count = 0;

  const takeFrom = (scanner: ListScanner): void => {
    const taken = scanner.take();
    count += taken.length;
    elements = elements.length === 0 ? taken : [...elements, ...taken];
  };

  return {
    push: (chunk) => {
      let at: number | undefined = 0;
      while (at !== undefined && at < chunk.length) {
        if (list === undefined) {
          at = envelope.push(chunk, at);
          if (at !== undefined) list = new ListScanner();
        } else {
          at = list.push(chunk, at);
          takeFrom(list);
          if (at !== undefined) list = undefined;
        }
      }
    },
    take: () => {
      const taken = elements;
      elements = [];
      return taken;
    },
    end: () => ({ envelope: envelope.end(), listFound: envelope.listFound, count }),
  };
}
