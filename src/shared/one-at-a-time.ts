/** Concurrent calls share one piece of work, so that a hanging dependency gets one. */
export function oneAtATime(work: () => Promise<void>) {
  let underWay: Promise<void> | undefined;
  const run = (): Promise<void> => (underWay ??= work().finally(() => (underWay = undefined)));
  /** Resolves when no work is under way. */
  return Object.assign(run, { idle: async () => await underWay });
}
