/**
 * Determines the protected values of a stream, from the settings and the forgotten people, and cleans the stored data
 * accordingly.
 */
import type { Queryable } from '../database/connection.ts';
import {
  type Cleaning,
  cleaningProgress,
  type CleaningProgress,
  type Policy,
  readAccountPrivacy,
  readForgotten,
} from '../control/stored-privacy.ts';
import type { StreamSession } from '../control/stream-session.ts';
import { streamShape } from '../database/table-shape.ts';
import { cleanStored } from './clean-stored.ts';
import { createProtection, type Protection } from './protect.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { createPseudonyms } from '../../shared/pseudonym.ts';
import { STREAMS } from '../streams/index.ts';
import { storedColumns } from '../streams/stored-columns.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';

export interface PrivacySettings {
  /** Columns as `table.column`. */
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

function policyOf(
  stream: StreamDefinition,
  { settings, keyId, forgotten }: Pick<Policy, 'keyId' | 'forgotten'> & Pick<Scope, 'settings'>,
): Policy {
  const own = new Set(storedColumns([stream]).map(({ table, column }) => `${table}.${column}`));
  const [omit, pseudonymize] = [settings.omit, settings.pseudonymize].map((columns) =>
    columns.filter((column) => own.has(column)).sort(),
  ) as [string[], string[]];
  const needsKey = pseudonymize.length > 0 || forgotten.length > 0;
  return { omit, pseudonymize, keyId: needsKey ? keyId : null, forgotten };
}

/** The progress of applying the settings to a stream's stored data. */
export interface StreamCleaning {
  readonly stream: StreamName;
  readonly policy: Policy;
  readonly progress: CleaningProgress;
  readonly cleaning: Cleaning | undefined;
}

/** Reads many accounts in a few statements; sorted by account, then in the order of the streams. */
export async function readCleaningProgress(
  db: Queryable,
  accountIds: readonly string[],
  settings: PrivacySettings,
): Promise<Map<string, StreamCleaning[]>> {
  const keyId = settings.key === undefined ? null : createPseudonyms(settings.key).keyId;
  const accounts = await readAccountPrivacy(db, accountIds);
  return new Map(
    [...accounts].map(([accountId, { cleanings, forgotten, begun }]) => [
      accountId,
      STREAMS.map((stream): StreamCleaning => {
        const policy = policyOf(stream, { settings, keyId, forgotten });
        const cleaning = cleanings.get(stream.name);
        const isEmpty = cleaning === undefined && !begun.has(stream.name);
        const progress = isEmpty ? 'done' : cleaningProgress(cleaning, policy);
        return { stream: stream.name, policy, progress, cleaning };
      }),
    ]),
  );
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
  const policy = policyOf(stream, {
    settings,
    keyId: pseudonyms?.keyId ?? null,
    forgotten: forgotten.map(({ pseudonym }) => pseudonym),
  });
  const { omit, pseudonymize } = policy;
  const isEmpty = omit.length === 0 && policy.keyId === null;
  const protection = isEmpty ? null : createProtection({ stream, omit, pseudonymize, pseudonyms, forgotten });
  return { protection, policy };
}

/** The protection for settings that protect nothing: cleaning a stream then only records that. */
function createNoProtection(stream: StreamDefinition): Protection {
  return createProtection({ stream, omit: [], pseudonymize: [], pseudonyms: null, forgotten: [] });
}

/** Called under the stream's lock, before rows are stored. */
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
): ReturnType<typeof cleanStored> {
  return await cleanStored({
    session,
    shape: streamShape(stream),
    accountId,
    protection: privacy.protection ?? createNoProtection(stream),
    policy: privacy.policy,
    signal,
  });
}
