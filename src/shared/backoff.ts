/** Delay after the given number of failures in a row, at least one: each further one doubles it. */
export const backoff = (
  failures: number,
  { firstMs, mostMs }: Readonly<Record<'firstMs' | 'mostMs', number>>,
): number =>
  // The exponent is bounded, because 0 ms times infinity is no number.
  Math.min(mostMs, firstMs * 2 ** Math.min(failures - 1, 100));
