/** Sends a batch to the database: rows, the keys that came, data issues. Part of the open transaction. */
import { toArrayLiteral } from '../database/array-literal.ts';
import { addCounts } from '../database/record-counts.ts';
import type { StreamSession } from '../database/stream-session.ts';
import { meetLater } from '../shared/meet-later.ts';
import type { RecordCopies, RefusedRecord } from './copy-records.ts';
import type { PreparedRecord } from './normalize.ts';
import type { Pending } from './pending.ts';
import type { Prepared } from './prepare-chunk.ts';
import { buildRejection, type StagedIssue } from './staged-issue.ts';
import type { Staging } from './staging.ts';
import type { StreamShape } from '../database/table-shape.ts';
import type { RunKey } from '../database/control-tables.ts';

interface BatchWriterOptions {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly scope: RunKey;
  readonly staging: Staging;
  readonly copies: RecordCopies;
  /** Remember the keys of everything that comes, to find what was deleted. */
  readonly tracksSeen: boolean;
}

/** Adds what was written to what is pending. */
type BatchWriter = (batch: Prepared, pending: Pending) => Promise<void>;

export function createBatchWriter(options: BatchWriterOptions): BatchWriter {
  const { session, shape, scope, staging, copies } = options;
  const { stream } = shape;

  function toRejection({ record, error }: RefusedRecord): StagedIssue {
    const problem = `PostgreSQL cannot store it: ${error.message}`;
    return buildRejection({ stream, ...record, identified: { ...record.identified, problem } });
  }

  /** `older`: versions that were not needed. Returns how many. */
  async function writeIssues(
    issues: readonly StagedIssue[],
    {
      refused,
      older,
    }: { readonly refused: readonly RefusedRecord[]; readonly older: readonly PreparedRecord[] },
  ): Promise<number> {
    const ords = new Set([...refused.map(({ record }) => record.ord), ...older.map(({ read }) => read.ord)]);
    const ofRows = issues.filter(({ of_row, ord }) => !of_row || !ords.has(ord));
    const all = [...ofRows, ...refused.map(toRejection)];
    await staging.writeIssues(all);
    return all.length;
  }

  return async (batch, pending) => {
    const marked = options.tracksSeen ? meetLater(staging.markSeen(batch.seen, batch.firstOrd)) : undefined;
    const repeated = await takeOutOlder(session, { shape, scope, records: batch.repeated });
    if (repeated.length > 0) {
      await staging.dropIssues(repeated.map(({ read }) => read.identified.key ?? ''));
    }
    const refusedAdded = await copies.send(batch.added, 'tables');
    if (repeated.length > 0) {
      refusedAdded.push(...(await copies.send(copies.render(repeated, 'tables'), 'tables')));
    }
    const refused = [...refusedAdded, ...(await copies.send(batch.changed, 'stages'))];
    await marked;
    const older = batch.repeated.filter((one) => !repeated.includes(one));
    pending.issues += await writeIssues(batch.issues, { refused, older });
    addCounts(pending.counts, batch.counts);
    const news = batch.added.records.length + batch.added.refused.length;
    pending.counts.inserted += news - refusedAdded.length;
    // Of two versions in one transaction one was not needed: the other counts as inserted.
    pending.counts.unchanged += batch.repeated.length;
    pending.counts.rejected += refused.length;
    if (stream.countsDays === true) {
      for (const { identified } of batch.added.records) pending.addedKeys.push(identified.key ?? '');
    }
    pending.staged += batch.changed.records.length;
    for (const id of batch.userIds) pending.userIds.add(id);
    for (const identity of batch.resolved.identities) pending.resolvedIdentities.add(identity);
    for (const key of batch.resolved.keys) pending.resolvedKeys.add(key);
  };
}

interface TakeOut {
  readonly shape: StreamShape;
  readonly scope: RunKey;
  /** Of which the open transaction has stored another version. */
  readonly records: readonly PreparedRecord[];
}

/**
 * A record that came twice in one transaction: the first version went straight into its tables and was never seen there, so
 * it makes room for the newer one without leaving a state in the history. Takes out the stored versions that are not newer;
 * returns the records whose keys are free now.
 */
async function takeOutOlder(
  { connection }: StreamSession,
  { shape: { stream, parent, children }, scope, records }: TakeOut,
): Promise<PreparedRecord[]> {
  if (records.length === 0) return [];
  const { versionColumn } = stream;
  const keys = records.map(({ read }) => read.identified.key);
  const key = parent.key[0] ?? '';
  const isOlder =
    versionColumn === null
      ? '$3::text[] is not null'
      : `coalesce(t."${versionColumn}", '-infinity') <= coalesce(u.version::timestamptz, '-infinity')`;
  const rows = await connection.query<{ key: string }>(
    `select t."${key}" as key from "${parent.schema}"."${parent.name}" t
      join unnest($2::text[], $3::text[]) as u (key, version) on u.key = t."${key}"
      where t.account_id = $1 and ${isOlder}`,
    [
      scope.accountId,
      toArrayLiteral(keys),
      toArrayLiteral(
        records.map(({ parent: row }) =>
          versionColumn === null ? null : ((row as Record<string, unknown>)[versionColumn] as string | null),
        ),
      ),
    ],
  );
  const free = new Set(rows.map((row) => row.key));
  for (const table of [...children].reverse().concat(parent)) {
    await connection.query(
      `delete from "${table.schema}"."${table.name}" where account_id = $1 and "${table.key[0] ?? ''}" = any($2::text[])`,
      [scope.accountId, toArrayLiteral([...free])],
    );
  }
  return records.filter(({ read }) => free.has(read.identified.key ?? ''));
}
