/** Forgets a person, and applies the privacy settings of an account to all its stored data. */
import { getTableColumns, getTableName, sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { lostProtection, readForgotten, writeForgotten } from '../control-tables/stored-privacy.ts';
import { createPeople, forgottenTexts, type People } from '../privacy/people.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { createPseudonyms, isPseudonym } from '../../shared/pseudonym.ts';
import { STREAMS } from '../streams/index.ts';
import { userColumns } from '../streams/stored-columns.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';
import {
  applyPrivacy,
  lessProtection,
  NO_PRIVACY,
  type PrivacySettings,
  readCleaningProgress,
  readForgottenWithKey,
} from '../privacy/settings.ts';
import { openSession, type RunContext } from './run.ts';

interface CleanedStream {
  readonly stream: StreamName;
  /** null: no cleaning was necessary. */
  readonly rowsChanged: number | null;
}

const isLookup = ({ readMode }: StreamDefinition): boolean => readMode.kind === 'people';

/** Cleans all streams, one after the other; each waits for a running run of its stream. Errors: as `applyPrivacy`. */
export async function cleanAccount(context: RunContext, mayLift = false): Promise<CleanedStream[]> {
  const { settings, signal, events, streams = STREAMS } = context;
  const { accountId } = settings;
  const all: CleanedStream[] = [];
  // The stream that looks people up is last: until then runs of the others may still record ids that they have received.
  for (const stream of streams.toSorted((one, other) => Number(isLookup(one)) - Number(isLookup(other)))) {
    const session = await openSession(context, stream.name, 'wait');
    if (session === undefined) continue;
    try {
      const request = { stream, accountId, settings: context.privacy ?? NO_PRIVACY, signal, mayLift };
      const { cleaned } = await applyPrivacy(session, request);
      if (cleaned !== undefined) events.onCleaned?.(stream.name, cleaned);
      all.push({ stream: stream.name, rowsChanged: cleaned?.rowsChanged ?? null });
    } catch (error) {
      await session.rollback();
      throw error;
    } finally {
      await session.close();
    }
  }
  return all;
}

/**
 * Before a command that stores: settings that protect less than the recorded ones are recorded if `mayLift`, else refused.
 * Errors: `privacy_less`.
 */
export async function settleProtection(contexts: readonly RunContext[], mayLift: boolean): Promise<void> {
  for (const context of contexts) {
    const { db, settings, privacy = NO_PRIVACY } = context;
    const { accountId } = settings;
    const streams = (await readCleaningProgress(db, [accountId], privacy)).get(accountId) ?? [];
    const lost = streams.flatMap(({ cleaning, policy }) =>
      cleaning ? lostProtection(cleaning.policy, policy) : [],
    );
    if (lost.length === 0) continue;
    if (!mayLift) throw lessProtection(accountId, lost);
    await cleanAccount(context, true);
  }
}

interface StoredPerson {
  readonly id: string;
  readonly name: string | null;
  /** Tables with rows that have the id. */
  readonly tables: readonly { readonly table: string; readonly rows: number }[];
}

/** Who would be forgotten. undefined: nobody has the id. */
export async function findStoredPerson(
  { db, settings: { accountId }, privacy = NO_PRIVACY }: RunContext,
  id: string,
): Promise<StoredPerson | undefined> {
  const columns = STREAMS.flatMap(userColumns);
  const counts = [...new Set(columns.map(({ table }) => table))].map((table) => {
    const ofTable = columns.filter((one) => one.table === table);
    const isTheirs = ofTable.map(({ column }) =>
      getTableColumns(table)[column]?.getSQLType().endsWith('[]') === true
        ? sql`${id} = any (${sql.identifier(column)})`
        : sql`${sql.identifier(column)} = ${id}`,
    );
    return sql`select ${getTableName(table)}::text as "table", count(*)::int as rows from ${table}
      where account_id = ${accountId} and (${sql.join(isTheirs, sql` or `)})`;
  });
  const rows = await db.execute<{ table: string; rows: number }>(sql.join(counts, sql` union all `));
  const found = rows.filter((one) => one.rows > 0);
  const name = await readName(db, accountId, id);
  const forgotten = await readForgottenWithKey(db, accountId, privacy);
  const person = createPseudonyms(keyOf(privacy)).of(id);
  const isKnown = found.length > 0 || name !== null || forgotten.some((one) => one.person === person);
  return isKnown ? { id, name, tables: found } : undefined;
}

/** Who is forgotten, and since when. */
export const listForgotten = async ({ db, settings: { accountId } }: RunContext) =>
  await db.execute<{ person: string; since: string }>(sql`
    select person, min(forgotten_at)::text as since from safety_sync.forgotten where account_id = ${accountId}
    group by person order by 2, 1`);

/** Returns the pseudonym; null: the person is not forgotten. Complete reads store the id and the name again. */
export async function cancelForgetting(
  { db, settings: { accountId }, privacy = NO_PRIVACY }: RunContext,
  id: string,
): Promise<string | null> {
  await readForgottenWithKey(db, accountId, privacy);
  const person = createPseudonyms(keyOf(privacy)).of(id.trim());
  const { count } = await db.execute(
    sql`delete from safety_sync.forgotten where account_id = ${accountId} and person = ${person}`,
  );
  return count === 0 ? null : person;
}

function keyOf({ key }: PrivacySettings): string {
  if (key !== undefined) return key;
  throw new SafetySyncError(
    'configuration_invalid',
    'PRIVACY_KEY is not set: only a keyed hash of a forgotten person is kept, to recognize later records of that person',
  );
}

interface Person {
  readonly id: string;
  /** Names in addition to the stored one, for a person that was not looked up, has changed the name, or uses another one. */
  readonly names?: readonly string[];
}

interface Forgotten {
  /** The replacement of the person's id from now on. */
  readonly pseudonym: string;
  /**
   * A name of two words or more is known, now or from an earlier request to forget the person: it is found inside of texts.
   */
  readonly isNameKnown: boolean;
  /** Ids of other people with that name in `users`; their own rows keep it. */
  readonly namesakes: readonly string[];
  readonly streams: readonly CleanedStream[];
  /** Number of runs with notes or errors that named the person. */
  readonly runs: number;
}

/** Errors: `configuration_invalid` without a secret, `privacy_key_wrong`. */
export async function forgetPerson(
  context: RunContext,
  { id: typed, names = [] }: Person,
): Promise<Forgotten> {
  const { db, settings, privacy = NO_PRIVACY } = context;
  const { accountId } = settings;
  const id = typed.trim();
  const pseudonyms = createPseudonyms(keyOf(privacy));
  await readForgottenWithKey(db, accountId, privacy);
  const stored = await readName(db, accountId, id);
  const texts = forgottenTexts(pseudonyms, { id, names: stored === null ? names : [stored, ...names] });
  await writeForgotten(
    db,
    accountId,
    texts.map((text) => ({ ...text, key_id: pseudonyms.secretId })),
  );
  const person = pseudonyms.of(id);
  const cleaned = await cleanAccount(context);
  const forgotten = await readForgotten(db, accountId);
  const cleanedRuns = await cleanRuns(
    db,
    accountId,
    withoutPerson(createPeople(pseudonyms, forgotten), { id, person }),
  );
  const own = forgotten.filter((one) => one.person === person);
  return {
    pseudonym: person,
    isNameKnown: own.some(({ words }) => words !== null),
    namesakes: await readNamesakes(db, accountId, createPeople(pseudonyms, own)),
    streams: cleaned,
    runs: cleanedRuns,
  };
}

async function readName(db: Queryable, accountId: string, id: string): Promise<string | null> {
  const [row] = await db.execute<{ name: string | null }>(
    sql`select name from safety.users where account_id = ${accountId} and btrim(id) = ${id} order by id`,
  );
  const name = row?.name ?? null;
  return name === null || isPseudonym(name) ? null : name;
}

async function readNamesakes(db: Queryable, accountId: string, people: People | null): Promise<string[]> {
  const users = await db.execute<{ id: string; name: string }>(
    sql`select id, name from safety.users where account_id = ${accountId} and name is not null order by id`,
  );
  return users.flatMap(({ id, name }) => (people === null || people.inText(name) === name ? [] : [id]));
}

/** Also replaces short ids, because notes and errors may contain ids with failed lookups. */
function withoutPerson(
  people: People | null,
  { id, person }: { readonly id: string; readonly person: string },
): (text: string) => string {
  const asWord = new RegExp(
    `(?<![\\p{L}\\p{N}])${id.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\p{L}\\p{N}])`,
    'gu',
  );
  return (text) => (people?.inText(text) ?? text).replace(asWord, person);
}

/** Returns the number of runs that named the person. Many runs have equal notes, so each text is read once. */
async function cleanRuns(db: Queryable, accountId: string, clean: (text: string) => string): Promise<number> {
  let changed = 0;
  for (const column of [sql`note`, sql`error_message`]) {
    const texts = await db.execute<{ text: string }>(sql`
      select distinct ${column} as text from safety_sync.runs where account_id = ${accountId} and ${column} is not null`);
    for (const { text } of texts) {
      const cleaned = clean(text);
      if (cleaned === text) continue;
      const { count } = await db.execute(sql`update safety_sync.runs set ${column} = ${cleaned}
        where account_id = ${accountId} and ${column} = ${text}`);
      changed += count;
    }
  }
  return changed;
}
