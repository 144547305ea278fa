/**
 * Rows of records that the warehouse does not have go straight to their tables by `COPY`: nothing has to be compared,
 * superseded or cleared away for them. Part of the transaction that stores them. Where one of them turns out to be
 * there already, or cannot be stored, PostgreSQL refuses (SQLSTATE 22, 23), and the caller takes the way over the
 * staging tables.
 */
import { sql } from 'drizzle-orm';
import type { Row } from '../streams/stream.ts';
import type { Transaction } from './connection.ts';
import { toArrayLiteral, toCell, toChunks } from './copy-text.ts';
import * as issues from './issue-sql.ts';
import { noteUserIds } from './merge-sql.ts';
import type { MergeScope } from './sql-names.ts';
import type { StagedRecord, StreamShape } from './staging.ts';
import type { StreamSession } from './stream-session.ts';
import type { ColumnShape, TableShape } from './table-shape.ts';

const TIME = 'timestamp with time zone';
const ACCOUNT: ColumnShape = { name: 'account_id', type: 'text' };
const VALID_FROM: ColumnShape = { name: '_valid_from', type: TIME };
const BOOKKEEPING: readonly ColumnShape[] = [
  { name: '_synced_at', type: TIME },
  { name: '_run_id', type: 'bigint' },
];

/** The columns of a table in the order in which a line has them: what is the same for all rows, then the row's own. */
interface Layout {
  readonly target: string;
  readonly own: readonly ColumnShape[];
  /** What stands before the row's own cells in every line. */
  readonly prefix: string;
}

interface Stamp extends MergeScope {
  /** The time of the transaction, as PostgreSQL writes it. */
  readonly now: string;
}

function layoutOf(shape: TableShape, isParent: boolean, { accountId, runId, now }: Stamp): Layout {
  const common = isParent ? [ACCOUNT, ...BOOKKEEPING] : [ACCOUNT];
  const own = shape.history === null ? shape.columns : [...shape.columns, VALID_FROM];
  const names = [...common, ...own].map(({ name }) => `"${name}"`).join(', ');
  const values = isParent ? [accountId, now, runId] : [accountId];
  return {
    target: `"${shape.schema}"."${shape.name}" (${names})`,
    own,
    prefix: values.map((value) => `${toCell(value, 'text')}\t`).join(''),
  };
}

/** A state begins when the source says, else when it was seen. */
function withBeginning(shape: TableShape, row: Row, now: string): Row {
  const { history } = shape;
  if (history === null) return row;
  return { ...row, _valid_from: (history.since === null ? null : row[history.since]) ?? now };
}

export interface DirectLoad extends MergeScope {
  readonly session: StreamSession;
  readonly shape: StreamShape;
  readonly records: readonly StagedRecord[];
}

/** Returns the number of records, all of them inserted. */
export async function loadDirectly(tx: Transaction, load: DirectLoad): Promise<number> {
  const { session, shape, records } = load;
  if (records.length === 0) return 0;
  const [clock] = await tx.execute<{ now: string }>(sql`select now()::text as now`);
  const stamp: Stamp = { ...load, now: clock?.now ?? '' };
  const copy = async (table: TableShape, isParent: boolean, rows: readonly Row[]): Promise<void> => {
    if (rows.length === 0) return;
    const { target, own, prefix } = layoutOf(table, isParent, stamp);
    const stamped = table.history === null ? rows : rows.map((row) => withBeginning(table, row, stamp.now));
    await session.connection.copy(`copy ${target} from stdin`, toChunks(own, stamped, { prefix }));
  };
  const rowsOf = (position: number) => records.flatMap((record) => record.children[position] ?? []);
  await copy(
    shape.parent,
    true,
    records.map(({ parent }) => parent),
  );
  for (const [position, child] of shape.children.entries()) await copy(child, false, rowsOf(position));
  await noteUsers(tx, load, rowsOf);
  const keyColumn = shape.parent.key[0] ?? '';
  const keys = toArrayLiteral(records.map(({ parent }) => String(parent[keyColumn])));
  // A record that could not be stored before leaves an issue behind that is settled now.
  await tx.execute(issues.resolveKeys(keys, { accountId: load.accountId, stream: shape.stream.name }));
  return records.length;
}

async function noteUsers(
  tx: Transaction,
  { shape, records, accountId }: DirectLoad,
  rowsOf: (position: number) => readonly Row[],
): Promise<void> {
  const ids = new Set<string>();
  const tables = [shape.parent, ...shape.children];
  for (const { table, column } of shape.stream.userIdColumns) {
    const position = tables.findIndex((one) => one.table === table);
    const rows = position === 0 ? records.map(({ parent }) => parent) : rowsOf(position - 1);
    for (const row of rows) {
      const value = row[column];
      if (typeof value === 'string') ids.add(value);
      else if (Array.isArray(value)) for (const one of value) ids.add(String(one));
    }
  }
  if (ids.size > 0)
    await tx.execute(
      noteUserIds(sql`select unnest(${toArrayLiteral([...ids])}::text[]) as user_id`, accountId),
    );
}
