/** Marks the promise as handled, so Node.js raises no unhandled rejection; awaiting it still rejects. */
export function ignoreRejection<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined);
  return promise;
}
