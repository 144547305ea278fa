/** Compares the stored rows of one record with the service's current record. Stores nothing. */
import { createRequestMeter } from '../api/requests.ts';
import type { Queryable } from '../database/connection.ts';
import { readStoredRecord } from '../database/stored-record.ts';
import { compareRows, type RowComparison } from '../loading/drift-sql.ts';
import { normalize, parseRecord, toReadRecord } from '../loading/record.ts';
import { receivedColumns, type StreamShape, streamShape, type TableShape } from '../database/table-shape.ts';
import { askForRecord, type FoundRecord } from '../reading/one-record.ts';
import type { KnownRecord } from '../reading/read-request.ts';
import { streamNamed } from '../streams/index.ts';
import type { RecordIssue, Row, StreamName } from '../streams/stream.ts';
import { NO_PRIVACY, readPrivacy } from '../privacy/settings.ts';
import type { RunContext } from './run.ts';

interface FieldComparison {
  /** `due_on`, or `followup_messages[9001].note`; `followup_messages[9001]` if one side lacks the whole row. */
  readonly field: string;
  readonly isEqual: boolean;
  /** null also if there is no row. */
  readonly stored: unknown;
  /** The value that would be stored. */
  readonly source: unknown;
}

export type Verification = Awaited<ReturnType<typeof verifyRecord>>;

export async function verifyRecord(context: RunContext, streamName: StreamName, key: string) {
  const { settings, clock, signal, db } = context;
  const stream = streamNamed(streamName, context.streams);
  const { accountId } = settings;
  const { protection, policy } = await readPrivacy(db, {
    stream,
    accountId,
    settings: context.privacy ?? NO_PRIVACY,
  });
  // The row of a forgotten person has another key than the service's record.
  const scope = { accountId, key: protection?.ofKey(key) ?? key };
  const before = await readStoredRecord(db, stream, scope);
  /** For a repair: the record as it was requested. */
  const known: KnownRecord = {
    key,
    stored: before?.raw ?? null,
    requestedType: before?.requestedType ?? null,
  };
  const meter = createRequestMeter();
  const service = { api: context.api(), meter, clock, signal };
  const found = await askForRecord({ stream, service, settings }, known);
  const record =
    protection === null ? found?.record : found?.record.replace(protection.ofRecord(found.record.parse()));
  // The row is read again, because a run may have stored the record meanwhile.
  const row = await readStoredRecord(db, stream, scope);
  const stored = toPresence(row);
  const compared =
    record === undefined
      ? ABSENT
      : await compareFields(db, streamShape(stream), { ...scope, record, about: found?.about ?? {} });
  const { source, fields } = compared;
  const isMark =
    source === 'absent' ? stored !== 'live' : stored === (source === 'present' ? 'live' : source);
  return {
    ...compared,
    stream: streamName,
    key,
    stored,
    isEqual: isMark && fields.every((field) => field.isEqual),
    /** When the row last changed here. */
    storedAt: row === undefined ? null : new Date(row.syncedAt).toISOString(),
    /** training: `last_updated` of the response's list. */
    calculatedAtMs: found?.about.calculatedAtMs ?? null,
    requests: meter.requests,
    known,
    /** Columns that are omitted or pseudonymized by the privacy settings. */
    withheld: [...policy.omit, ...policy.pseudonymize],
  };
}

function toPresence(row: Awaited<ReturnType<typeof readStoredRecord>>): 'live' | 'deleted' | 'absent' {
  if (row === undefined) return 'absent';
  return row.deletedAt === null ? 'live' : 'deleted';
}

interface Compared {
  /** `deleted`: the service sends it as deleted. `rejected`: the service has it, and it cannot be a row. */
  readonly source: 'present' | 'deleted' | 'absent' | 'rejected';
  /** Differences first. */
  readonly fields: readonly FieldComparison[];
  /** Values that differ from the service's for a reason, for example because they cannot be stored. */
  readonly remarks: readonly (Pick<RecordIssue, 'kind' | 'problem' | 'value'> & {
    readonly field: string | null;
  })[];
}

const ABSENT: Compared = { source: 'absent', fields: [], remarks: [] };

async function compareFields(
  db: Queryable,
  shape: StreamShape,
  { accountId, key, record, about }: FoundRecord & { accountId: string; key: string },
): Promise<Compared> {
  const { stream, parent, children } = shape;
  const read = toReadRecord(record, { stream, about });
  const parsed = parseRecord(stream, read);
  const { problem, value } = parsed;
  if (problem !== null) {
    const remark = { kind: 'record_rejected', field: null, problem, value } as const;
    return { ...ABSENT, source: 'rejected', remarks: [remark] };
  }
  const issues: RecordIssue[] = [];
  const made = normalize(stream, read, parsed, (issue) => void issues.push(issue));
  const fields: FieldComparison[] = [];
  for (const [position, table] of [parent, ...children].entries()) {
    const isParent = table === parent;
    const { columns: all, key: ownKey } = table;
    const received = receivedColumns(shape).map(({ name }) => name);
    // A key that the program makes is none of the received columns.
    const columns = isParent ? all.filter(({ name }) => [...ownKey, ...received].includes(name)) : all;
    const scope = { rows: made.rows[position] ?? [], columns, accountId, key };
    const shown = columns.filter(({ name }) => (isParent ? received.includes(name) : !ownKey.includes(name)));
    for (const row of await db.execute<RowComparison>(compareRows(table, scope)))
      fields.push(...toFields(shown, row, isParent ? null : rowName(table, row)));
  }
  return {
    source: made.parent['_deleted_at'] == null ? 'present' : 'deleted',
    fields: fields.toSorted((one, other) => Number(one.isEqual) - Number(other.isEqual)),
    remarks: issues.map(({ kind, field, problem, value }) => ({ kind, field, problem, value })),
  };
}

/** `label` begins the names of a child's fields. A child row that only one side has is one difference. */
function toFields(
  columns: TableShape['columns'],
  row: RowComparison,
  label: string | null,
): FieldComparison[] {
  const toShownRow = (side: Row | null) =>
    side && Object.fromEntries(columns.map(({ name, type }) => [name, toShown(side[name], type)]));
  const [stored, source] = [toShownRow(row.stored), toShownRow(row.source)];
  if (label !== null && (stored === null || source === null)) {
    return [{ field: label, isEqual: false, stored, source }];
  }
  return columns.map(({ name }) => ({
    field: label === null ? name : `${label}.${name}`,
    isEqual: !row.differing.includes(name),
    stored: stored?.[name] ?? null,
    source: source?.[name] ?? null,
  }));
}

/** `followup_messages[9001]` */
function rowName({ key: [, ...ownKey], name }: TableShape, row: RowComparison): string {
  const keyText = ownKey.map((column) => String((row.stored ?? row.source)?.[column])).join(', ');
  return keyText === '' ? name : `${name}[${keyText}]`;
}

/** Converts times, because PostgreSQL writes them in the session's time zone. */
function toShown(value: unknown, type: string): unknown {
  if (type !== 'timestamp with time zone' || typeof value !== 'string') return value ?? null;
  const ms = Date.parse(value);
  return Number.isNaN(ms) ? value : new Date(ms).toISOString();
}
