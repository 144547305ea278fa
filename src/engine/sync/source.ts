/** The service that an account belongs to. Another one is refused, because its records would be mixed with the stored ones. */
import { createRequestMeter } from '../api/requests.ts';
import { readOptionalMethods, writeOptionalMethods } from '../control-tables/optional-methods.ts';
import { readSource, type Source, writeSource } from '../control-tables/sources.ts';
import { IDENTITY_METHOD, isLeftAlone } from '../streams/optional-methods.ts';
import { isWireRecord } from '../streams/wire.ts';
import { type ErrorCode, SafetySyncError } from '../../shared/errors.ts';
import { DAY_MS, MINUTE_MS } from '../../shared/time.ts';
import type { RunContext } from './run.ts';

type Identity = Pick<Source, 'service_id' | 'service_name'>;
/** A service that cannot be reached fails for the list, too: there is no need to wait for it twice. */
const MOST_MS = MINUTE_MS;
const UNKNOWN: Identity = { service_id: null, service_name: null };

export const describeSource = ({ address, service_id, service_name }: Source): string => {
  const who = [service_name, service_id].filter((one) => one !== null);
  return who.length === 0 ? address : `${address} (${who.join(', ')})`;
};

/** Two ids that differ are two accounts at the service, whatever their addresses. */
export const isOtherAccount = (one: Source, other: Source): boolean =>
  one.service_id !== null && other.service_id !== null && one.service_id !== other.service_id;

export function sourceChanged(accountId: string, stored: Source, current: Source): SafetySyncError {
  const isOther = isOtherAccount(stored, current);
  const mistake =
    stored.address === current.address
      ? 'If it is the wrong token: correct SAFETY_TOKEN'
      : `If the address is wrong: correct SAFETY_BASE_URL to ${stored.address}`;
  const ways = [
    `Nothing was read or changed. ${mistake}`,
    ...(isOther ? [] : [`A new address of the same service: safety-sync accounts move ${accountId}`]),
    'Another service beside it: give it a SAFETY_ACCOUNT of its own.',
    `Only if what is stored was practice (it is deleted, with its history): safety-sync accounts remove ${accountId}`,
  ];
  return new SafetySyncError(
    'source_changed',
    `account ${accountId} was read from ${describeSource(stored)} until now, and the configuration names ${describeSource(current)}`,
    { advice: ways.join('\n') },
  );
}

const textOf = (value: unknown): string | null =>
  typeof value === 'string' || typeof value === 'number' ? String(value).trim() || null : null;

interface SourceOptions extends Pick<RunContext, 'api' | 'db' | 'clock' | 'signal'> {
  readonly accountId: string;
  readonly address: string;
}

export function createSourceGuard({ accountId, address, api, db, clock, signal }: SourceOptions) {
  let asked: { readonly identity: Promise<Identity>; readonly atMs: number } | undefined;

  /** Without an answer the address alone counts. A service that does not offer the method is asked again weekly. */
  async function fetchIdentity(): Promise<Identity> {
    if (isLeftAlone((await readOptionalMethods(db, accountId)).get(IDENTITY_METHOD))) return UNKNOWN;
    let identity = UNKNOWN;
    let code: ErrorCode | null = null;
    try {
      const account = await api().fetchObject({
        method: IDENTITY_METHOD,
        objectKey: 'account',
        params: {},
        meter: createRequestMeter(),
        retries: 0,
        signal: AbortSignal.any([signal, AbortSignal.timeout(MOST_MS)]),
      });
      const { id, name } = isWireRecord(account) ? account : {};
      identity = { service_id: textOf(id), service_name: textOf(name) };
    } catch (error) {
      if (!(error instanceof SafetySyncError) || signal.aborted) throw error;
      ({ code } = error);
    }
    await writeOptionalMethods(db, { accountId, now: 'now' }, [{ method: IDENTITY_METHOD, code }]);
    return identity;
  }

  /** Asks once, and daily by a worker. */
  async function readCurrent(): Promise<Source> {
    const atMs = clock.monotonicMs();
    if (asked === undefined || atMs - asked.atMs > DAY_MS) asked = { identity: fetchIdentity(), atMs };
    try {
      return { address, ...(await asked.identity) };
    } catch (error) {
      // A failure of the database is none of the service.
      asked = undefined;
      throw error;
    }
  }

  /**
   * `stored`: the service that was read; undefined: nothing was read yet. An address that differs is refused as it is, without a
   * request.
   */
  async function compare() {
    const stored = await readSource(db, accountId);
    const isElsewhere = stored !== undefined && stored.address !== address;
    const current = isElsewhere ? { address, ...UNKNOWN } : await readCurrent();
    const isOther = isElsewhere || (stored !== undefined && isOtherAccount(stored, current));
    return { stored, current, isOther };
  }

  return {
    compare,
    readCurrent,
    /** The address is not that of the account, as is known without a request. */
    async isElsewhere(): Promise<boolean> {
      const stored = await readSource(db, accountId);
      return address !== '' && stored !== undefined && stored.address !== address;
    },
    /** Called before every list, so that no run goes on after another process has moved the account. Error: `source_changed`. */
    async assertSame(): Promise<void> {
      const { stored, current, isOther } = await compare();
      if (stored !== undefined && isOther) throw sourceChanged(accountId, stored, current);
      // A known id stays when the service does not send it.
      const service_id = current.service_id ?? stored?.service_id ?? null;
      const service_name = current.service_name ?? stored?.service_name ?? null;
      if (stored?.service_id !== service_id || stored.service_name !== service_name)
        await writeSource(db, accountId, { address, service_id, service_name });
    },
  };
}
