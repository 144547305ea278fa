/** Reads from a response how many records there are. */
import * as z from 'zod';

const countSchema = z
  .union([z.number(), z.string().trim().regex(/^\d+$/).transform(Number)])
  .pipe(z.int().nonnegative())
  .optional()
  .catch(undefined);

const pagingSchema = z.object({ total: countSchema, last_page: countSchema });

/** How many records there are; undefined where the response has no usable value. */
export interface Paging {
  readonly total: number | undefined;
  readonly lastPage: number | undefined;
}

/** undefined: the response has no paging. Paging without a usable value is still a sign that there are pages. */
export function readPaging(envelope: Readonly<Record<string, unknown>>): Paging | undefined {
  const { paging } = envelope;
  if (paging === undefined || paging === null) return undefined;
  const parsed = pagingSchema.safeParse(paging);
  return { total: parsed.data?.total, lastPage: parsed.data?.last_page };
}
