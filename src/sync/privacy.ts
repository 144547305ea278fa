/** What of a stream may not be stored, from the settings and from who was forgotten; and what is stored brought in line with it. */
import type { Queryable } from '../database/connection.ts';
import { type Policy, readForgotten } from '../database/privacy.ts';
import type { StreamSession } from '../database/stream-session.ts';
import { streamShape } from '../database/table-shape.ts';
import { cleanStored, type CleanResult } from '../loading/clean-stored.ts';
import { createProtection, type Protection } from '../loading/protect.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { createPseudonyms } from '../shared/pseudonym.ts';
import { storedColumns } from '../streams/stored-columns.ts';
import type { StreamDefinition } from '../streams/stream.ts';

export interface PrivacySettings {
  /** `table.column` each. */
  readonly omit: readonly string[];
  readonly pseudonymize: readonly string[];
  readonly key?: string | undefined;
}

export const NO_PRIVACY: PrivacySettings = { omit: [], pseudonymize: [] };

interface StreamPrivacy {
  /** null: everything may be stored. */
  readonly protection: Protection | null;
  readonly policy: Policy;
}

interface Scope {
  readonly stream: StreamDefinition;
  readonly accountId: string;
  readonly settings: PrivacySettings;
}

/** Errors: `privacy_key_wrong`. */
export async function readPrivacy(
  db: Queryable,
  { stream, accountId, settings }: Scope,
): Promise<StreamPrivacy> {
  const { key } = settings;
  const pseudonyms = key === undefined ? null : createPseudonyms(key);
  const forgotten = await readForgotten(db, accountId);
  if (forgotten.some(({ key_id: keyId }) => keyId !== pseudonyms?.keyId)) {
    throw new SafetySyncError(
      'privacy_key_wrong',
      key === undefined
        ? 'people were forgotten, and PRIVACY_KEY is not set'
        : 'people were forgotten with another PRIVACY_KEY than this one',
    );
  }
  const own = new Set(storedColumns([stream]).map(({ table, column }) => `${table}.${column}`));
  const [omit, pseudonymize] = [settings.omit, settings.pseudonymize].map((columns) =>
    columns.filter((column) => own.has(column)).sort(),
  ) as [string[], string[]];
  const needsKey = pseudonymize.length > 0 || forgotten.length > 0;
  const policy: Policy = {
    omit,
    pseudonymize,
    keyId: needsKey ? (pseudonyms?.keyId ?? null) : null,
    forgotten: forgotten.map(({ pseudonym }) => pseudonym),
  };
  const isEmpty = omit.length === 0 && !needsKey;
  const protection = isEmpty ? null : createProtection({ stream, omit, pseudonymize, pseudonyms, forgotten });
  return { protection, policy };
}

/** Where nothing is protected: what cleaning a stream does then is to note that. */
function createNoProtection(stream: StreamDefinition): Protection {
  return createProtection({ stream, omit: [], pseudonymize: [], pseudonyms: null, forgotten: [] });
}

/** Under the stream's lock, before anything is stored. undefined: there was nothing to do. */
export async function applyPrivacy(
  session: StreamSession,
  {
    stream,
    accountId,
    privacy,
    signal,
  }: Omit<Scope, 'settings'> & {
    readonly privacy: StreamPrivacy;
    readonly signal: AbortSignal;
  },
): Promise<CleanResult | undefined> {
  return await cleanStored({
    session,
    shape: streamShape(stream),
    accountId,
    protection: privacy.protection ?? createNoProtection(stream),
    policy: privacy.policy,
    signal,
  });
}
