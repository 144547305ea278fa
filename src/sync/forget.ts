/** Forgets a person, and brings everything that is stored of an account in line with its privacy settings. */
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { writeForgotten } from '../database/privacy.ts';
import { openStreamSession } from '../database/stream-session.ts';
import { forgottenTexts } from '../loading/people.ts';
import { SafetySyncError } from '../shared/errors.ts';
import { createPseudonyms, isPseudonym } from '../shared/pseudonym.ts';
import { STREAMS } from '../streams/index.ts';
import type { StreamDefinition, StreamName } from '../streams/stream.ts';
import { applyPrivacy, NO_PRIVACY, readPrivacy } from './privacy.ts';
import type { RunContext } from './run.ts';

export interface CleanedStream {
  readonly stream: StreamName;
  /** null: there was nothing to do. */
  readonly rowsChanged: number | null;
}

/** The one that looks people up last: until then runs of the others may still note ids that they have met. */
function inOrder(streams: readonly StreamDefinition[]): StreamDefinition[] {
  const isLookup = ({ readMode }: StreamDefinition): boolean => readMode.kind === 'lookup';
  return [...streams.filter((stream) => !isLookup(stream)), ...streams.filter(isLookup)];
}

/** Of all streams, one after the other; each waits for a run of it that is under way. Errors: `privacy_key_wrong`. */
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
      onWait: () => events.onWait?.(stream.name, undefined),
    });
    if (session === undefined) continue;
    try {
      const scope = { stream, accountId, settings: context.privacy ?? NO_PRIVACY };
      const privacy = await readPrivacy(session.connection.db, scope);
      const cleaned = await applyPrivacy(session, { ...scope, privacy, signal });
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

interface Forgotten {
  /** What stands in the place of the person's id from now on. */
  readonly pseudonym: string;
  readonly streams: readonly CleanedStream[];
}

/** Errors: `configuration_invalid` without a key, `privacy_key_wrong`. */
export async function forgetPerson(context: RunContext, id: string): Promise<Forgotten> {
  const { db, settings, privacy = NO_PRIVACY, streams = STREAMS } = context;
  const { accountId } = settings;
  if (privacy.key === undefined) {
    throw new SafetySyncError(
      'configuration_invalid',
      'PRIVACY_KEY is not set: of who is forgotten only a keyed hash is kept, to recognize what the source sends of them',
    );
  }
  // That those who were forgotten before were so with this key.
  for (const stream of streams.slice(0, 1)) await readPrivacy(db, { stream, accountId, settings: privacy });
  const pseudonyms = createPseudonyms(privacy.key);
  const texts = forgottenTexts(pseudonyms, { id, name: await readName(db, accountId, id) });
  await writeForgotten(
    db,
    accountId,
    texts.map((text) => ({ ...text, key_id: pseudonyms.keyId })),
  );
  const pseudonym = pseudonyms.of(id);
  const cleaned = await cleanAccount(context);
  await cleanRuns(db, { accountId, id, pseudonym });
  return { pseudonym, streams: cleaned };
}

async function readName(db: Queryable, accountId: string, id: string): Promise<string | null> {
  const [row] = await db.execute<{ name: string | null }>(
    sql`select name from safety.users where account_id = ${accountId} and id = ${id}`,
  );
  const name = row?.name ?? null;
  return name === null || isPseudonym(name) ? null : name;
}

/** Notes and errors of runs name ids that could not be looked up. */
async function cleanRuns(
  db: Queryable,
  {
    accountId,
    id,
    pseudonym,
  }: { readonly accountId: string; readonly id: string; readonly pseudonym: string },
): Promise<void> {
  const rows = await db.execute<{ run_id: string; note: string | null; error_message: string | null }>(sql`
    select run_id::text as run_id, note, error_message from safety_sync.runs
    where account_id = ${accountId} and strpos(concat_ws(' ', note, error_message), ${id}) > 0`);
  const asWord = new RegExp(
    `(?<![\\p{L}\\p{N}])${id.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}(?![\\p{L}\\p{N}])`,
    'gu',
  );
  const without = (text: string | null): string | null => text?.replace(asWord, pseudonym) ?? null;
  for (const { run_id: runId, note, error_message: message } of rows) {
    await db.execute(sql`update safety_sync.runs set note = ${without(note)}, error_message = ${without(message)}
      where account_id = ${accountId} and run_id = ${runId}::bigint`);
  }
}
