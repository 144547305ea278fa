/**
 * Orders the statements of a session. postgres.js would send a statement between the rows of a COPY, which ends the
 * session. So statements that are called during a COPY are sent after it, in the order of their calls.
 */
export function createTurns() {
  /** undefined: no COPY is active. */
  let waiting: (() => void)[] | undefined;
  const take = (send: () => void): void => {
    if (waiting === undefined) send();
    else waiting.push(send);
  };
  return {
    take,
    /** Resolves when it is the turn of a COPY. */
    async takeForCopy(): Promise<void> {
      // Earlier statements come first: postgres.js sends them one microtask after their call.
      await Promise.resolve();
      await new Promise<void>((resolve) =>
        take(() => {
          waiting = [];
          resolve();
        }),
      );
    },
    endCopy(): void {
      const called = waiting ?? [];
      waiting = undefined;
      // If one of them is a COPY, those behind it wait again.
      called.forEach(take);
    },
  };
}
