/** Reads what a response says beside its list: whether it succeeded, and how much there is. */
import { z } from 'zod';

const envelopeSchema = z.discriminatedUnion('ok', [
  z.looseObject({ ok: z.literal(true) }),
  z.looseObject({
    ok: z.literal(false),
    error: z.string().min(1),
    // Left out of the judgement: an odd description must not hide the identifier.
    description: z.string().optional().catch(undefined),
  }),
]);

/** What every response says about itself (specification, "Common protocol"). */
type Verdict =
  | { readonly kind: 'success' }
  | { readonly kind: 'error'; readonly identifier: string; readonly description: string | undefined }
  /** JSON, but not a response of this protocol. */
  | { readonly kind: 'foreign'; readonly problem: string };

export function readVerdict(envelope: Readonly<Record<string, unknown>>): Verdict {
  const parsed = envelopeSchema.safeParse(envelope);
  if (!parsed.success) {
    const problem =
      envelope['ok'] === false
        ? 'ok is false, but there is no error identifier'
        : 'there is no ok that is true or false';
    return { kind: 'foreign', problem };
  }
  if (parsed.data.ok) return { kind: 'success' };
  return { kind: 'error', identifier: parsed.data.error, description: parsed.data.description };
}

const countSchema = z
  .union([z.number(), z.string().trim().regex(/^\d+$/).transform(Number)])
  .pipe(z.int().nonnegative())
  .optional()
  .catch(undefined);

const pagingSchema = z.object({ total: countSchema, last_page: countSchema });

/** How much there is, as far as the response says so in a usable way. */
export interface Paging {
  readonly total: number | undefined;
  readonly lastPage: number | undefined;
}

/**
 * Tolerant: numbers as text are accepted, anything unusable is undefined. undefined as a whole: the response has no paging;
 * one that says nothing usable is still a hint that there are pages.
 */
export function readPaging(envelope: Readonly<Record<string, unknown>>): Paging | undefined {
  const { paging } = envelope;
  if (paging === undefined || paging === null) return undefined;
  const parsed = pagingSchema.safeParse(paging);
  return { total: parsed.data?.total, lastPage: parsed.data?.last_page };
}
