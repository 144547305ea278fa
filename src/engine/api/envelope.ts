/** Reads the envelope of a response: whether the request succeeded, and how many records there are. */
import * as z from 'zod';

/** The result of a request according to its response (specification, "Common protocol"). */
type Verdict =
  | { readonly kind: 'success' }
  | { readonly kind: 'error'; readonly identifier: string; readonly description: string | undefined }
  /** JSON, but not a response of this protocol. */
  | { readonly kind: 'foreign'; readonly problem: string };

export function readVerdict({ ok, error, description }: Readonly<Record<string, unknown>>): Verdict {
  if (ok === true) return { kind: 'success' };
  if (ok !== false) return { kind: 'foreign', problem: 'there is no ok that is true or false' };
  if (typeof error !== 'string' || error === '')
    return { kind: 'foreign', problem: 'ok is false, but there is no error identifier' };
  // An unusable description must not hide the identifier.
  const text = typeof description === 'string' ? description : undefined;
  return { kind: 'error', identifier: error, description: text };
}

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
