/** Returns the promise: a failure of it is met by whoever waits for it, and until then does not count as unhandled. */
export function meetLater<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined);
  return promise;
}
