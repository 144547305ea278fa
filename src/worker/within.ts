export type InTime<T> = { readonly inTime: true; readonly value: T } | { readonly inTime: false };

/** Waits for the work, but not longer than this; the work goes on, and its failure afterwards is nobody's. */
export async function within<T>(work: Promise<T>, ms: number): Promise<InTime<T>> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<InTime<T>>((resolve) => {
    timer = setTimeout(() => resolve({ inTime: false }), ms);
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work.then((value): InTime<T> => ({ inTime: true, value })), late]);
  } finally {
    clearTimeout(timer);
  }
}
