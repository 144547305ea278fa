/** Compares the stored rows of one record with the service's current record. Stores nothing. */
import { sql } from 'drizzle-orm';
import { createRequestMeter } from '../api/requests.ts';
import type { Queryable } from '../database/connection.ts';
import { comparedColumns, compareRows, type RowComparison } from '../loading/drift-sql.ts';
import { normalize, type ReadRecord, toReadRecord } from '../loading/record.ts';
import { keyColumn } from '../database/sql-names.ts';
import { type StreamShape, streamShape } from '../database/table-shape.ts';
import { read } from '../reading/read.ts';
import type { KnownRecord } from '../reading/read-request.ts';
import type { RecordsStep } from '../reading/step.ts';
import { streamNamed } from '../streams/index.ts';
import { NO_STATE } from '../streams/state.ts';
import type { RecordIssue, StreamName, WireRecord } from '../streams/stream.ts';
import { readPrivacy } from '../privacy/settings.ts';
import { toIso } from '../../shared/time.ts';
import type { RunContext } from './run.ts';
import { warehouseReads } from './run-steps.ts';

interface FieldComparison {
  /** `due_on`, or `followup_messages[9001].note`; `followup_messages[9001]` if one side lacks the whole row. */
  readonly field: string;
  readonly equal: boolean;
  /** null also if there is no row. */
  readonly stored: unknown;
  /** The value that would be stored. */
  readonly source: unknown;
}

type KeyOfRow = Readonly<Record<'accountId' | 'key', string>>;

export type Verification = Awaited<ReturnType<typeof verifyRecord>>['verification'];

/** `verification` has the names of `verify --json`. `known`: for a repair, the record as it was requested. */
export async function verifyRecord(context: RunContext, streamName: StreamName, key: string) {
  const { db, settings } = context;
  const { accountId } = settings;
  const stream = streamNamed(streamName);
  const { protection, policy } = await readPrivacy(db, { ...context, stream });
  // The row of a forgotten person has another key than the service's record.
  const scope = { accountId, key: protection?.ofKey(key) ?? key };
  const shape = streamShape(stream);
  const [row] = await db.execute<{ content: WireRecord; mark: 'live' | 'deleted'; syncedAt: string }>(sql`
    select t._raw as content, t._synced_at as "syncedAt",
      case when t._deleted_at is null then 'live' else 'deleted' end as mark
    from ${shape.parent.table} t
    where t.account_id = ${accountId} and t.${keyColumn(shape.parent)} = ${scope.key}`);
  const known: KnownRecord = { key, stored: row?.content ?? null };
  const meter = createRequestMeter();
  const steps = read({
    // A backfill takes also an older training list.
    ...{ kind: 'backfill', trigger: 'manual', stream, settings, state: NO_STATE, onlyRecord: known },
    service: { ...context, meter },
    warehouse: warehouseReads({ accountId, stream }, db),
  });
  let found: RecordsStep | undefined;
  for await (const step of steps) if (step.kind === 'records') found = step;
  const stored = row?.mark ?? ('absent' as const);
  const { records: [sent] = [], about = {} } = found ?? {};
  const toStore = sent && toReadRecord(sent, { stream, about, protection });
  const { source, fields, remarks } = toStore
    ? await compare(db, shape, scope, toStore)
    : { source: 'absent' as const, fields: [], remarks: [] };
  // A row that is marked deleted agrees with a service that does not send it.
  const agrees = source === 'present' ? stored === 'live' : stored === 'deleted' || stored === source;
  const verification = {
    account_id: accountId,
    stream: streamName,
    id: key,
    equal: agrees && fields.every((field) => field.equal),
    stored,
    source,
    /** When the row last changed here. */
    stored_at: row === undefined ? null : new Date(row.syncedAt).toISOString(),
    /** training: `last_updated` of the response's list. */
    calculated_at: toIso(about.calculatedAtMs ?? null),
    requests: meter.requests,
    fields,
    remarks,
    /** Columns that are omitted or pseudonymized by the privacy settings. */
    withheld: [...policy.omit, ...policy.pseudonymize],
  };
  return { known, verification };
}

/** `fields`: differences first. `source` deleted: the service sends it so. */
async function compare(db: Queryable, shape: StreamShape, scope: KeyOfRow, toStore: ReadRecord) {
  const { stream, parent, children } = shape;
  /** Values that differ from the service's for a reason, for example because they cannot be stored. */
  const remarks: RecordIssue[] = [];
  const made = normalize(stream, toStore, (issue) => void remarks.push(issue));
  const fields: FieldComparison[] = [];
  for (const [position, table] of [parent, ...children].entries()) {
    const isChild = table !== parent;
    const columns = comparedColumns(shape, table).filter(({ name }) => !table.key.includes(name));
    const rows = made.rows[position] ?? [];
    const compared = await db.execute<RowComparison>(compareRows(shape, table, { ...scope, rows }));
    for (const { stored, source, differing } of compared) {
      const ownKey = table.key.slice(1).map((column) => String((stored ?? source)?.[column]));
      const row = ownKey.length === 0 ? table.name : `${table.name}[${ownKey.join(', ')}]`;
      if (isChild && (stored === null || source === null))
        fields.push({ field: row, equal: false, stored, source });
      else
        for (const { name } of columns)
          fields.push({
            field: isChild ? `${row}.${name}` : name,
            equal: !differing.includes(name),
            stored: stored?.[name] ?? null,
            source: source?.[name] ?? null,
          });
    }
  }
  return {
    source: made.parent['_deleted_at'] == null ? ('present' as const) : ('deleted' as const),
    fields: fields.toSorted((one, other) => Number(one.equal) - Number(other.equal)),
    remarks,
  };
}
