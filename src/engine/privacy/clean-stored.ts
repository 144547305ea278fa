/**
 * Applies the privacy settings to the stored data of a stream: data issues, rows, superseded states and, for the stream that
 * looks people up, the ids to look up. Each step is a transaction that also records the progress, so an interrupted cleaning
 * continues there. It runs under the stream's lock, so no other process stores rows meanwhile.
 */
import { getTableConfig } from 'drizzle-orm/pg-core';
import { sql } from 'drizzle-orm';
import type { Queryable } from '../database/connection.ts';
import { toArrayLiteral } from '../database/array-literal.ts';
import {
  type Cleaning,
  type CleaningPosition,
  cleaningProgress,
  isSamePolicy,
  NO_POLICY,
  type Lifted,
  type Policy,
  readCleaning,
  writeCleaning,
} from '../control/stored-privacy.ts';
import { followupDays } from '../history/followup-days.ts';
import { compareStates } from '../history/followup-figures.ts';
import { list, name, of, target } from '../database/sql-names.ts';
import type { StreamKey } from '../control/control-tables.ts';
import type { StreamSession } from '../control/stream-session.ts';
import { hasDifferences, type StreamShape, type TableShape } from '../database/table-shape.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { parseExactJson } from '../../shared/exact-json.ts';
import type { Row, StateHistory } from '../streams/stream.ts';
import { cleanDays } from './clean-days.ts';
import { cleanIssues } from './clean-issues.ts';
import { cleanRecords, rowsAs } from './clean-records.ts';
import type { CleaningScope, CleaningStep } from './cleaning-step.ts';
import type { Protection } from './protect.ts';

type Pass = (db: Queryable, scope: CleaningScope, after: readonly string[] | null) => Promise<CleaningStep>;

interface CleanRequest {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly accountId: string;
  readonly protection: Protection;
  readonly policy: Policy;
  readonly signal: AbortSignal;
}

const STEP_ROWS = 1000;

export interface CleanResult {
  readonly rowsChanged: number;
  /** The stored pseudonyms were made with another key. */
  readonly hasOtherKey: boolean;
  /** Columns that were protected until now. */
  readonly unprotected: readonly string[];
}

const protectedBy = ({ omit, pseudonymize }: Policy): string[] => [...omit, ...pseudonymize];

interface Cleaned {
  /** undefined: no cleaning was necessary. */
  readonly cleaned: CleanResult | undefined;
  readonly lifted: Lifted;
}

export async function cleanStored(request: CleanRequest): Promise<Cleaned> {
  const { session, shape, accountId, signal } = request;
  const { db } = session.connection;
  const scope = { accountId, stream: shape.stream.name };
  const found = await readCleaning(db, scope);
  const before = found?.policy ?? NO_POLICY;
  const progress = cleaningProgress(found, request.policy);
  if (progress === 'done' && isSamePolicy(before, request.policy)) {
    return { cleaned: undefined, lifted: before.lifted ?? {} };
  }
  const now = protectedBy(request.policy);
  const unprotected = protectedBy(before).filter((column) => !now.includes(column));
  const columns = [...Object.keys(before.lifted ?? {}), ...unprotected].filter(
    (column) => !now.includes(column),
  );
  const policy = { ...request.policy, lifted: await liftedUntilNow(db, scope, columns) };
  const hasOtherKey = before.keyId !== null && policy.keyId !== null && before.keyId !== policy.keyId;
  if (progress === 'done') {
    await writeCleaning(db, scope, { policy, position: null, rowsSeen: 0, rowsChanged: 0 });
    return { cleaned: { rowsChanged: 0, hasOtherKey, unprotected }, lifted: policy.lifted };
  }
  const goesOn = progress === 'under_way' && found !== undefined;
  let state: Cleaning = goesOn
    ? found
    : { policy, position: { pass: 0, after: null }, rowsSeen: 0, rowsChanged: 0 };
  const passes = passesOf(shape);
  while (state.position !== null) {
    if (signal.aborted) throw new SafetySyncError('interrupted', `${scope.stream}: stopped while cleaning`);
    state = await cleanStep(request, state, passes);
  }
  await analyze(db, shape);
  // The cleaning has moved `_synced_at` of rows that still lack these columns.
  const lifted = await liftedUntilNow(db, scope, columns);
  if (columns.length > 0) await writeCleaning(db, scope, { ...state, policy: { ...policy, lifted } });
  return { cleaned: { rowsChanged: state.rowsChanged, hasOtherKey, unprotected }, lifted };
}

/** Rows with an earlier `_synced_at` than this may lack the columns. */
async function liftedUntilNow(
  db: Queryable,
  { accountId, stream }: StreamKey,
  columns: readonly string[],
): Promise<Lifted> {
  if (columns.length === 0) return {};
  const [row] = await db.execute<{ time: string }>(sql`
    select greatest(clock_timestamp(), max(complete_until))::text as time from safety_sync.stream_state
    where account_id = ${accountId} and stream = ${stream}`);
  return Object.fromEntries(columns.map((column) => [column, row?.time ?? 'infinity']));
}

async function cleanStep(
  { session, shape, accountId, protection }: CleanRequest,
  state: Cleaning,
  passes: readonly Pass[],
): Promise<Cleaning> {
  const { db } = session.connection;
  const { pass, after } = state.position ?? { pass: passes.length, after: null };
  const time = await session.begin();
  const step = (await passes[pass]?.(db, { shape, accountId, protection, ...time }, after)) ?? NOTHING;
  const position: CleaningPosition | null =
    step.last !== null
      ? { pass, after: step.last }
      : pass + 1 < passes.length
        ? { pass: pass + 1, after: null }
        : null;
  const next: Cleaning = {
    policy: state.policy,
    position,
    rowsSeen: state.rowsSeen + step.seen,
    rowsChanged: state.rowsChanged + step.changed,
  };
  await writeCleaning(db, { accountId, stream: shape.stream.name }, next);
  await session.commit({ isDurable: true });
  return next;
}

const NOTHING: CleaningStep = { last: null, seen: 0, changed: 0 };

function passesOf({ stream, parent, children }: StreamShape): Pass[] {
  const states = [parent, ...children].flatMap((table): Pass[] => {
    const history = stream.histories.find(({ of: owner }) => owner === table.table);
    return history === undefined
      ? []
      : [(db, scope, after) => cleanStates(db, scope, { table, history, after })];
  });
  const differences = hasDifferences(parent) ? [cleanDifferences] : [];
  const days = stream.countsDays !== true ? [] : [cleanDays];
  return [
    cleanIssues,
    cleanRecords,
    ...states,
    ...differences,
    ...days,
    ...(stream.readMode.kind === 'lookup' ? [cleanLookups] : []),
  ];
}

interface StatesStep {
  readonly table: TableShape;
  readonly history: StateHistory;
  readonly after: readonly string[] | null;
}

/** States have no record, so their columns are processed one by one. */
async function cleanStates(
  db: Queryable,
  { accountId, protection }: CleaningScope,
  { table, history, after }: StatesStep,
): Promise<CleaningStep> {
  const { columns, name: states, schema } = getTableConfig(history.states);
  const into = sql`${name(schema ?? 'public')}.${name(states)}`;
  const key = [...table.key, 'valid_from'];
  const place = sql.join(
    (after ?? []).map((value, at) => (at === key.length - 1 ? sql`${value}::timestamptz` : sql`${value}`)),
    sql`, `,
  );
  const from = after === null ? sql`` : sql`and (${of('t', key)}) > (${place})`;
  const rows = await db.execute<{ row: string }>(sql`
    select to_jsonb(t)::text as row from ${into} t where t.account_id = ${accountId} ${from}
    order by ${of('t', key)} limit ${STEP_ROWS}`);
  const shapes = columns.map((column) => ({ name: column.name, type: column.getSQLType() }));
  const all = rows.map(({ row }) => parseRow(row));
  // The record's key, which is also the beginning of the keys of its children.
  const [ofRecord = ''] = table.key;
  const changed = all.flatMap((row) => {
    const own = protection.ofRow(table.table, row);
    const recordKey = protection.ofKey(String(row[ofRecord]));
    const kept = recordKey === row[ofRecord] ? own : { ...own, [ofRecord]: recordKey };
    return kept === row ? [] : [{ row, kept }];
  });
  if (changed.length > 0) {
    // Only the keys, because the parameters of a statement may appear in the server's log.
    const taken = rowsAs(
      shapes.filter((column) => key.includes(column.name)),
      changed.map(({ row }) => Object.fromEntries(key.map((column) => [column, row[column]]))),
    );
    const own = sql.join(
      key.map((column) => sql`t.${name(column)} = r.${name(column)}`),
      sql` and `,
    );
    await db.execute(sql`delete from ${into} t using ${taken} where t.account_id = ${accountId} and ${own}`);
    const names = shapes.map((column) => column.name).filter((column) => column !== 'account_id');
    await db.execute(sql`insert into ${into} (account_id, ${list(names)})
      select ${accountId}::text, ${of('r', names)} from ${rowsAs(
        shapes,
        changed.map(({ kept }) => kept),
      )} on conflict do nothing`);
  }
  const end = all.at(-1);
  const last = end === undefined || all.length < STEP_ROWS ? null : key.map((column) => String(end[column]));
  return { last, seen: all.length, changed: changed.length };
}

/** Cleans the differences that a state keeps from the one before it. */
async function cleanDifferences(db: Queryable, scope: CleaningScope): Promise<CleaningStep> {
  await compareStates(db, scope.accountId, scope);
  return NOTHING;
}

const parseRow = (text: string): Row => parseExactJson(text) as Row;

/** Deletes the lookups of forgotten people. */
async function cleanLookups(
  db: Queryable,
  { accountId, protection }: CleaningScope,
  after: readonly string[] | null,
): Promise<CleaningStep> {
  const rows = await db.execute<{ id: string }>(sql`
    select user_id as id from safety_sync.user_lookups where account_id = ${accountId} and user_id > ${after?.[0] ?? ''}
    order by user_id limit ${STEP_ROWS}`);
  const gone = rows.flatMap(({ id }) => (protection.ofUserId(id) === id ? [] : [id]));
  if (gone.length > 0) {
    await db.execute(sql`delete from safety_sync.user_lookups
      where account_id = ${accountId} and user_id = any (${toArrayLiteral(gone)}::text[])`);
  }
  return {
    last: rows.length < STEP_ROWS ? null : [rows.at(-1)?.id ?? ''],
    seen: rows.length,
    changed: gone.length,
  };
}

/** ANALYZE, because the planner's statistics also contain values of columns. */
async function analyze(db: Queryable, { stream, parent, children }: StreamShape): Promise<void> {
  const tables = [parent, ...children].map((table) => sql`${target(table)}`);
  const states = stream.histories.map(({ states: of }) => sql`${of}`);
  const days = stream.countsDays !== true ? [] : [sql`${followupDays}`];
  const others = [sql`safety_sync.data_issues`, sql`safety_sync.user_lookups`, sql`safety_sync.outbox`];
  for (const table of [...tables, ...states, ...days, ...others]) {
    await db.execute(sql`analyze ${table}`);
  }
}
