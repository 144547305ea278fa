/** Marks the promise as handled, so Node.js reports no unhandled rejection; awaiting it still rejects. */
export function ignoreRejection<Result>(promise: Promise<Result>): Promise<Result> {
  promise.catch(() => undefined);
  return promise;
}
