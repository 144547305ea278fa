/** Forgets a person, and applies the privacy settings of an account to all its stored data. */
import { getTableName, sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { forgotten } from '../control-tables/control-tables.ts';
import { lostProtection } from '../control-tables/stored-privacy.ts';
import { withStreamSession } from '../control-tables/stream-session.ts';
import { forgottenTexts, isSearched } from '../privacy/people.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { createPseudonyms, isPseudonym } from '../../shared/pseudonym.ts';
import { STREAMS } from '../streams/index.ts';
import { userColumns } from '../streams/stored-columns.ts';
import type { StreamName } from '../streams/stream.ts';
import { applyPrivacy, lessProtection, readForgotten, readPolicies } from '../privacy/settings.ts';
import type { RunContext } from './run.ts';

/**
 * Cleans all streams, one after the other; each waits for a running run of its stream. `rowsChanged` null: no cleaning was
 * necessary. Errors: as `applyPrivacy`.
 */
export async function cleanAccount(context: RunContext, mayLift = false) {
  const all: { stream: StreamName; rowsChanged: number | null }[] = [];
  // In their order the stream that looks people up is last: until then runs of the others may record ids that they have received.
  for (const stream of STREAMS) {
    const asked = { stream: stream.name, whenBusy: 'wait' } as const;
    const done = await withStreamSession(context, asked, (session) =>
      applyPrivacy(session, { ...context, stream, mayLift }),
    );
    if (done?.cleaned !== undefined) context.events.onCleaned?.(stream.name, done.cleaned);
    all.push({ stream: stream.name, rowsChanged: done?.cleaned ?? null });
  }
  return all;
}

/**
 * Before a command that stores: settings that protect less than the recorded ones are recorded if `mayLift`, else refused.
 * Errors: `privacy_less`.
 */
export async function settleProtection(contexts: readonly RunContext[], mayLift: boolean): Promise<void> {
  for (const context of contexts) {
    const { db, settings, privacy } = context;
    const { accountId } = settings;
    const streams = await readPolicies(db, [accountId], privacy);
    const lost = streams.flatMap(({ stored, policy }) => lostProtection(stored, policy));
    if (lost.length === 0) continue;
    if (!mayLift) throw lessProtection(accountId, lost);
    await cleanAccount(context, true);
  }
}

/** The person that would be forgotten, and the tables with rows that have the id. undefined: the id is not stored. */
export async function findStoredPerson(context: RunContext, id: string) {
  const { db, settings } = context;
  const { accountId } = settings;
  const columns = STREAMS.flatMap(userColumns);
  const counts = [...new Set(columns.map(({ table }) => table))].map((table) => {
    // An id, or a list of ids.
    const ids = columns
      .filter((one) => one.table === table)
      .map(({ column }) => sql`'{}'::text[] || ${sql.identifier(column)}`);
    return sql`select ${getTableName(table)}::text as "table", count(*)::int as rows from ${table}
      where account_id = ${accountId} and ${id} = any (${sql.join(ids, sql` || `)})`;
  });
  const rows = await db.execute<{ table: string; rows: number }>(sql.join(counts, sql` union all `));
  const found = rows.filter((one) => one.rows > 0);
  const name = await readName(db, accountId, id);
  const { pseudonyms, known } = await openForgotten(context);
  const person = pseudonyms.of(id);
  const isKnown = found.length > 0 || name !== null || known.some((one) => one.person === person);
  return isKnown ? { id, name, tables: found } : undefined;
}

/** The forgotten people, and since when. */
export const listForgotten = async ({ db, settings: { accountId } }: RunContext) =>
  await db.execute<{ person: string; forgotten_at: string }>(sql`
    select person, min(forgotten_at)::text as forgotten_at from safety_sync.forgotten where account_id = ${accountId}
    group by person order by 2, 1`);

/** Returns the pseudonym; null: the person is not forgotten. Complete reads store the id and the name again. */
export async function cancelForgetting(context: RunContext, id: string): Promise<string | null> {
  const { accountId } = context.settings;
  const person = (await openForgotten(context)).pseudonyms.of(id.trim());
  // Earlier states keep the pseudonym, so it stays a person of its own.
  await context.db.execute(sql`insert into safety_sync.user_lookups (account_id, user_id)
    select distinct account_id, person from safety_sync.forgotten where account_id = ${accountId} and person = ${person}
    on conflict (account_id, user_id) do nothing`);
  const { count } = await context.db.execute(
    sql`delete from safety_sync.forgotten where account_id = ${accountId} and person = ${person}`,
  );
  return count === 0 ? null : person;
}

/** The forgotten people, and the pseudonyms under the secret. Errors: `configuration_invalid` without one, `privacy_key_wrong`. */
async function openForgotten({ db, settings, privacy }: RunContext) {
  if (privacy.key === undefined)
    throw new SafetySyncError(
      'configuration_invalid',
      'PRIVACY_KEY is not set: only a keyed hash of a forgotten person is kept, to recognize later records of that person',
    );
  const known = await readForgotten(db, settings.accountId, privacy);
  return { pseudonyms: createPseudonyms(privacy.key), known };
}

/**
 * `names`: in addition to the stored one, for a person that was not looked up, has changed the name, or uses another one.
 * Errors: `configuration_invalid` without a secret, `privacy_key_wrong`, `privacy_less`: then no person is recorded as
 * forgotten.
 */
export async function forgetPerson(context: RunContext, id: string, names: readonly string[] = []) {
  const { db, settings } = context;
  const { accountId } = settings;
  const { pseudonyms, known } = await openForgotten(context);
  await settleProtection([context], false);
  const stored = await readName(db, accountId, id);
  const allNames = stored === null ? names : [stored, ...names];
  const texts = forgottenTexts(pseudonyms, { id, names: allNames });
  const key_id = pseudonyms.secretId;
  const rows = texts.map((text) => ({ ...text, account_id: accountId, key_id }));
  await db.insert(forgotten).values(rows).onConflictDoNothing();
  const streams = await cleanAccount(context);
  const pseudonym = pseudonyms.of(id);
  // Notes and errors of runs may contain ids of failed requests, also short ones, and words of the service.
  const words = [id, ...allNames.filter(isSearched)].map((one) => one.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  const found = `(?<![[:alnum:]])(?:${words.join('|')})(?![[:alnum:]])`;
  const { count: runs } = await db.execute(sql`
    update safety_sync.runs set note = regexp_replace(note, ${found}, ${pseudonym}, 'gi'),
      error_message = regexp_replace(error_message, ${found}, ${pseudonym}, 'gi')
    where account_id = ${accountId} and (note ~* ${found} or error_message ~* ${found})`);
  return {
    /** The replacement of the person's id from now on. */
    pseudonym,
    /** A name of two words or more is known, now or from an earlier request to forget the person: it is found inside of texts. */
    isNameKnown: [...known, ...texts].some((one) => one.person === pseudonym && one.words !== null),
    streams,
    /** Number of runs with notes or errors that named the person. */
    runs,
  };
}

async function readName(db: Queryable, accountId: string, id: string): Promise<string | null> {
  const [row] = await db.execute<{ name: string | null }>(
    sql`select name from safety.users where account_id = ${accountId} and btrim(id) = ${id} order by id`,
  );
  const name = row?.name ?? null;
  return name === null || isPseudonym(name) ? null : name;
}
