/**
 * A batch of records: compared with the warehouse, converted to rows where the warehouse lacks them, and stored in the open
 * transaction. Rows of new records go by COPY into their tables, all other rows into the staging tables for the merge. If
 * row-level security is active, all rows are staged, because PostgreSQL refuses COPY there.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import pLimit from 'p-limit';
import { noCounts, type RecordCounts } from '../control-tables/runs.ts';
import { databaseMessage } from '../database/database-error.ts';
import { isPseudonym } from '../../shared/pseudonym.ts';
import type { RecordIssue } from '../streams/stream.ts';
import { userColumns } from '../streams/stored-columns.ts';
import { BatchIssues } from './batch-issues.ts';
import { createComparison } from './compare.ts';
import { type CopyText, createRecordCopies } from './copy-records.ts';
import type { LoadOptions } from './load-options.ts';
import { isStorable, normalize, type ReadRecord } from './record.ts';
import { dropIssuesOf, markSeen, refusalOf, writeIssues } from './staging.ts';

/** Number of records that are prepared without a pause. Data from PostgreSQL or the service waits meanwhile. */
const RECORDS_OF_A_TURN = 20;

/** Batches are prepared one after the other, because the first one is needed first. */
const inSequence = pLimit(1);

/** A batch with its rows; `counts` are those before the merge. */
export interface Prepared {
  readonly counts: RecordCounts;
  /** Users in the rows. */
  readonly userIds: ReadonlySet<string>;
  /** If they are tracked: the keys of all received records, also of those that cannot be rows. */
  readonly seen: readonly string[];
  /** New records, for their tables. */
  readonly added: CopyText;
  /** All others, for the staging tables: also new ones where COPY into the tables is refused, or that came twice. */
  readonly changed: CopyText;
  /** In the format of COPY. */
  readonly issues: string;
}

export type Batches = ReturnType<typeof createBatches>;

/** Adds the user ids in the value of a column, without pseudonyms: they cannot be looked up. */
function addUserIds(value: unknown, into: Set<string>): void {
  if (Array.isArray(value)) for (const one of value) addUserIds(one, into);
  else if (typeof value === 'string' && !isPseudonym(value)) into.add(value);
}

/** `hadRows`: the account had some before the load. Without them nothing can vanish. */
export function createBatches(options: LoadOptions, hadRows: boolean) {
  const { session, shape, accountId, fullCompare } = options;
  const tracksSeen = options.tracksSeen && hadRows;
  const { connection } = session;
  const { stream, parent, children } = shape;
  const compare = createComparison(session, shape, { accountId, hadRows });
  const copies = createRecordCopies(session, shape, options);
  /** Keys of the records that the open transaction has staged. */
  const staged = new Set<string>();
  const tables = [parent, ...children].map(({ table }) => table);
  const toLookUp = userColumns(stream);

  /** Reads the warehouse, and writes nothing. */
  async function prepare(records: readonly ReadRecord[]): Promise<Prepared> {
    const storable = records.filter(isStorable);
    const statuses = await compare(storable);
    // If another copy of the record is staged, the merge needs both to keep the newer one.
    const news = storable.filter(
      ({ key }) => fullCompare || staged.has(key) || statuses.get(key) !== 'unchanged',
    );
    const mayCopy = news.length > 0 && (await copies.mayCopyIntoTables());
    const [added, changed] = [copies.begin(), copies.begin()];
    const issues = new BatchIssues();
    const userIds = new Set<string>();
    for (const one of records) if (!isStorable(one)) issues.addRejected(stream, one);
    await inSequence(async () => {
      // Rows in the order of their primary key fill its pages: the keys of 100,000 new follow-ups take a quarter less.
      const inKeyOrder = news.toSorted((one, other) => (one.key < other.key ? -1 : 1));
      for (const [at, read] of inKeyOrder.entries()) {
        if (at % RECORDS_OF_A_TURN === RECORDS_OF_A_TURN - 1) await nextTurn();
        // Not parsed before, because the values of a whole batch would fill the memory until its last record is a row.
        const found: RecordIssue[] = [];
        const made = normalize(stream, read, (issue) => found.push(issue));
        if (found.length > 0) issues.addOfRow(read, found);
        for (const { table, column } of toLookUp) {
          for (const row of made.rows[tables.indexOf(table)] ?? []) addUserIds(row[column], userIds);
        }
        if (mayCopy && statuses.get(read.key) === 'added') copies.addNew(made, added);
        else copies.addChanged(made, changed);
      }
    });
    return {
      seen: tracksSeen ? [...new Set(records.flatMap(({ key }) => key ?? []))] : [],
      added,
      changed,
      issues: issues.close(),
      userIds,
      counts: {
        ...noCounts(),
        read: records.length,
        inserted: added.records.length,
        unchanged: storable.length - news.length,
        rejected: records.length - storable.length,
      },
    };
  }

  /** Rows of records with staged issues. */
  async function stage(records: readonly ReadRecord[]): Promise<CopyText> {
    const text = copies.begin();
    for (const read of records) copies.addChanged(normalize(stream, read), text);
    await copies.send(copies.begin(), text);
    return text;
  }

  /** Part of the open transaction. Returns the batch as it was stored: staged, if PostgreSQL refuses one of the new records. */
  async function store(batch: Prepared): Promise<Prepared> {
    const { seen, added, changed, issues, counts } = batch;
    const { isOfClock } = await session.begin();
    const [, refusal] = await Promise.all([
      // Sent first, so that a refusal does not undo it.
      tracksSeen && markSeen(connection, seen),
      // Copied rows would have the time of the clock: after it was set back, readers of changes would miss them.
      isOfClock ? refusalOf(connection, () => copies.send(added, changed)) : 'the clock was set back',
    ]);
    await writeIssues(connection, issues);
    // New records are not kept in memory up to the commit.
    let stored: Prepared = { ...batch, added: copies.begin() };
    if (refusal !== null) {
      const all = await stage([...added.records, ...changed.records]);
      stored = { ...stored, changed: all, counts: { ...counts, inserted: 0 } };
    }
    for (const { key } of stored.changed.records) staged.add(key ?? '');
    return stored;
  }

  /** Stages an issue with the record that PostgreSQL does not store. */
  async function refuse(record: ReadRecord, error: unknown): Promise<void> {
    await dropIssuesOf(connection, record.ord);
    const rejection = new BatchIssues();
    rejection.addRejected(stream, record, `PostgreSQL cannot store it: ${databaseMessage(error)}`);
    await writeIssues(connection, rejection.close());
  }

  return {
    stage,
    refuse,
    prepare,
    store,
    /** The transaction has ended. */
    forgetStaged: () => staged.clear(),
  };
}
