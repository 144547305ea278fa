/** Forgets a person, and applies the privacy settings of an account to all its stored data. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { readForgotten, writeForgotten } from '../control-tables/stored-privacy.ts';
import { openStreamSession } from '../control-tables/stream-session.ts';
import { createPeople, forgottenTexts, type People } from '../privacy/people.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { createPseudonyms, isPseudonym } from '../../shared/pseudonym.ts';
import { STREAMS } from '../streams/index.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';
import { applyPrivacy, NO_PRIVACY, readForgottenWithKey, readPrivacy } from '../privacy/settings.ts';
import { announceWait, type RunContext } from './run.ts';

interface CleanedStream {
  readonly stream: StreamName;
  /** null: no cleaning was necessary. */
  readonly rowsChanged: number | null;
}

/** The stream that looks people up is last: until then runs of the others may still record ids that they have received. */
function inOrder(streams: readonly StreamDefinition[]): StreamDefinition[] {
  const isLookup = ({ readMode }: StreamDefinition): boolean => readMode.kind === 'lookup';
  return [...streams.filter((stream) => !isLookup(stream)), ...streams.filter(isLookup)];
}

/** Cleans all streams, one after the other; each waits for a running run of its stream. Errors: `privacy_key_wrong`. */
export async function cleanAccount(context: RunContext): Promise<CleanedStream[]> {
  const { settings, signal, events, streams = STREAMS } = context;
  const { accountId } = settings;
  const all: CleanedStream[] = [];
  for (const stream of inOrder(streams)) {
    const session = await openStreamSession({
      databaseUrl: context.databaseUrl,
      accountId,
      stream: stream.name,
      whenBusy: 'wait',
      signal,
      onStatement: events.onStatement,
      onWait: () => void announceWait(context, stream.name),
    });
    if (session === undefined) continue;
    try {
      const scope = { stream, accountId, settings: context.privacy ?? NO_PRIVACY };
      const privacy = await readPrivacy(session.connection.db, scope);
      const { cleaned } = await applyPrivacy(session, { ...scope, privacy, signal });
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

/** Errors: `configuration_invalid` without a key, `privacy_key_wrong`. */
export async function forgetPerson(
  context: RunContext,
  { id: typed, names = [] }: Person,
): Promise<Forgotten> {
  const { db, settings, privacy = NO_PRIVACY } = context;
  const { accountId } = settings;
  const id = typed.trim();
  if (privacy.key === undefined) {
    throw new SafetySyncError(
      'configuration_invalid',
      'PRIVACY_KEY is not set: only a keyed hash of a forgotten person is kept, to recognize later records of that person',
    );
  }
  await readForgottenWithKey(db, accountId, privacy);
  const pseudonyms = createPseudonyms(privacy.key);
  const stored = await readName(db, accountId, id);
  const texts = forgottenTexts(pseudonyms, { id, names: stored === null ? names : [stored, ...names] });
  await writeForgotten(
    db,
    accountId,
    texts.map((text) => ({ ...text, key_id: pseudonyms.keyId })),
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

/** Also replaces short ids, because notes and errors may contain ids with failed look-ups. */
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

const STEP_RUNS = 1000;

/** Returns the number of runs that named the person. */
async function cleanRuns(db: Queryable, accountId: string, clean: (text: string) => string): Promise<number> {
  let changed = 0;
  for (let after: string | undefined = '0'; after !== undefined;) {
    const rows: readonly RunTexts[] = await db.execute<RunTexts>(sql`
      select run_id::text as run_id, note, error_message from safety_sync.runs
      where account_id = ${accountId} and run_id > ${after}::bigint and (note is not null or error_message is not null)
      order by run_id limit ${STEP_RUNS}`);
    for (const { run_id: runId, ...texts } of rows) {
      const [note, message] = [texts.note, texts.error_message].map((text) =>
        text === null ? null : clean(text),
      );
      if (note === texts.note && message === texts.error_message) continue;
      changed += 1;
      await db.execute(sql`update safety_sync.runs set note = ${note ?? null}, error_message = ${message ?? null}
        where account_id = ${accountId} and run_id = ${runId}::bigint`);
    }
    after = rows.length < STEP_RUNS ? undefined : rows.at(-1)?.run_id;
  }
  return changed;
}

interface RunTexts extends Record<string, unknown> {
  readonly run_id: string;
  readonly note: string | null;
  readonly error_message: string | null;
}
