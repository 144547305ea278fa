/**
 * Removes people whose ids were only in columns that are omitted now, as if these columns had been omitted from the
 * beginning.
 */
import { type SQL, sql } from 'drizzle-orm';
import type { StreamKey } from '../control-tables/control-tables.ts';
import { streamLockKey } from '../control-tables/stream-session.ts';
import { lockUsers } from '../control-tables/user-lookups.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import type { Queryable } from '../database/connection.ts';
import { name, target } from '../database/sql-names.ts';
import { tableShape } from '../database/table-shape.ts';
import { isPseudonym } from '../../shared/pseudonym.ts';
import { STREAMS } from '../streams/index.ts';
import { userColumns } from '../streams/stored-columns.ts';
import type { StreamDefinition } from '../streams/stream.ts';
import { users } from '../streams/users.ts';
import type { CleaningScope } from './clean-issues.ts';

const LOOKUP: StreamKey['stream'] = 'users';

/** Selects the ids of people in the rows and superseded states of a stream. */
function idsOf(stream: StreamDefinition, accountId: string): SQL[] {
  return userColumns(stream).flatMap(({ table, column }) => {
    const states = stream.histories
      .filter((history) => history.of === table)
      .map((history) => history.states);
    return [table, ...states].map((one) => {
      const shape = tableShape(one);
      const isList = shape.columns.some(({ name: own, type }) => own === column && type.endsWith('[]'));
      const value = isList ? sql`unnest(${name(column)})` : name(column);
      return sql`select ${value} from ${target(shape)} where account_id = ${accountId}`;
    });
  });
}

/** Part of the transaction that ends a cleaning. Returns the number of removed people. */
export async function removeHiddenPeople(
  db: Queryable,
  { shape: { stream }, accountId, protection }: CleaningScope,
): Promise<number> {
  const isHidden = userColumns(stream).some(
    ({ table, column }) => protection.ofRow(table, { [column]: 'a' })[column] === null,
  );
  if (!isHidden) return 0;
  // A run that looks people up would store them again: it is waited for.
  await db.execute(sql`select pg_advisory_xact_lock(${sql.raw(streamLockKey('l.account_id', 'l.stream'))})
    from (values (${accountId}::text, ${LOOKUP}::text)) as l (account_id, stream)`);
  // A transaction of another stream may have met one of the ids, and its rows are visible only after its commit.
  await lockUsers(db, accountId);
  const others = STREAMS.filter(({ readMode }) => readMode.kind !== 'lookup');
  const named = others.flatMap((one) => idsOf(one, accountId));
  const found = await db.execute<{ id: string }>(sql`
    (select user_id as id from safety_sync.user_lookups where account_id = ${accountId}
      union select id from ${users} where account_id = ${accountId})
    except (${sql.join(named, sql` union all `)})`);
  const gone = found.map(({ id }) => id).filter((id) => !isPseudonym(id));
  const isGone = (column: SQL): SQL =>
    sql`account_id = ${accountId} and ${column} = any (${toArrayLiteral(gone)}::text[])`;
  await db.execute(sql`delete from ${users} where ${isGone(sql`id`)}`);
  await db.execute(sql`delete from safety_sync.user_lookups where ${isGone(sql`user_id`)}`);
  await db.execute(
    sql`delete from safety_sync.data_issues where ${isGone(sql`record_id`)} and stream = ${LOOKUP}`,
  );
  return gone.length;
}
