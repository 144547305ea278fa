/**
 * The time that PostgreSQL itself takes for the same rows: one `COPY` into tables that have nothing but their
 * primary keys.
 */
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type postgres from 'postgres';
import { readCitus } from '../../src/warehouse/citus.ts';
import { connect } from './connect.ts';
import type { Warehouse } from './database.ts';

export interface Floor {
  readonly rows: number;
  readonly seconds: number;
  readonly rowsPerSecond: number;
}

/** Chunks as a client would send them. */
const CHUNK_BYTES = 256 * 1024;
const RUNS = 3;
const NEWLINE = 0x0a;

/**
 * The median of several loads of the present rows of the tables, at most `mostParents` records of the first
 * table.
 */
export async function measureFloor(
  warehouse: Warehouse,
  { tables, mostParents }: { readonly tables: RecordTables; readonly mostParents: number },
): Promise<Floor> {
  const [parent] = tables;
  const sql = connect(warehouse.url);
  try {
    await sql.unsafe(`create schema if not exists floor`);
    await sql.unsafe(
      `create temporary table chosen as select account_id, "${parent.key}" as key from safety."${parent.table}" order by 2 limit ${mostParents}`,
    );
    for (const { table } of tables) await createBareTable(sql, table);
    const { loads, rows } = await readRows(
      sql,
      tables.map(({ table, key }) => ({
        table,
        query: `select t.* from safety."${table}" t join chosen c on c.account_id = t.account_id and c.key = t."${key}"`,
      })),
    );
    const seconds: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      await sql.unsafe(`truncate ${tables.map(({ table }) => `floor."${table}"`).join(', ')}`);
      await sql.unsafe('checkpoint');
      seconds.push(await copyIn(sql, loads));
    }
    await sql.unsafe('drop schema floor cascade');
    return { rows, seconds: median(seconds), rowsPerSecond: rows / median(seconds) };
  } finally {
    await sql.end({ timeout: 5 });
  }
}

async function createBareTable(sql: postgres.Sql, table: string): Promise<void> {
  await sql.unsafe(`create table floor."${table}" (like safety."${table}" including defaults)`);
  const [primary] = await sql.unsafe(
    `select pg_get_constraintdef(oid) as text from pg_constraint where conrelid = 'safety."${table}"'::regclass and contype = 'p'`,
  );
  await sql.unsafe(`alter table floor."${table}" add ${String(primary?.['text'])}`);
}

interface TableRows {
  readonly table: string;
  readonly chunks: readonly Buffer[];
}

/** In one transaction; returns the seconds that it took. */
async function copyIn(sql: postgres.Sql, loads: readonly TableRows[]): Promise<number> {
  const startedMs = performance.now();
  await sql.begin(async (tx) => {
    for (const { table, chunks } of loads) {
      const sink = await tx.unsafe(`copy floor."${table}" from stdin`).writable();
      for (const chunk of chunks)
        if (!sink.write(chunk)) await new Promise((resolve) => sink.once('drain', resolve));
      sink.end();
      await finished(sink);
    }
  });
  return (performance.now() - startedMs) / 1000;
}

/** The rows of one query for each table. */
async function readRows(
  sql: postgres.Sql,
  sources: readonly { readonly table: string; readonly query: string }[],
): Promise<{ loads: TableRows[]; rows: number }> {
  const loads: TableRows[] = [];
  let rows = 0;
  for (const { table, query } of sources) {
    const { chunks, lines } = await readChunks(await sql.unsafe(`copy (${query}) to stdout`).readable());
    loads.push({ table, chunks });
    rows += lines;
  }
  return { loads, rows };
}

/**
 * Measures several accounts at once: one session each. On Citus the bare tables are distributed as the others
 * are.
 */
export async function measureSharedFloor(
  warehouse: Warehouse,
  { tables, accounts }: { readonly tables: readonly string[]; readonly accounts: readonly string[] },
): Promise<Floor> {
  const sessions = accounts.map(() => connect(warehouse.url));
  const [first] = sessions;
  try {
    if (first === undefined) throw new TypeError('no accounts');
    await first.unsafe('create schema floor');
    const isDistributed = (await readCitus(warehouse.connection))?.isDistributed === true;
    for (const table of tables) {
      await createBareTable(first, table);
      if (isDistributed)
        await first.unsafe(
          `select create_distributed_table('floor."${table}"', 'account_id', colocate_with => 'safety."${table}"')`,
        );
    }
    const read: Awaited<ReturnType<typeof readRows>>[] = [];
    for (const account of accounts) {
      const queryOf = (table: string) => `select * from safety."${table}" where account_id = '${account}'`;
      read.push(
        await readRows(
          first,
          tables.map((table) => ({ table, query: queryOf(table) })),
        ),
      );
    }
    const rows = read.reduce((sum, one) => sum + one.rows, 0);
    await Promise.all(sessions.map((sql) => sql.unsafe('select 1')));
    const times = await Promise.all(sessions.map((sql, at) => copyIn(sql, read[at]?.loads ?? [])));
    const seconds = Math.max(...times);
    return { rows, seconds, rowsPerSecond: rows / seconds };
  } finally {
    await Promise.all(sessions.map((sql) => sql.end({ timeout: 5 })));
  }
}

interface RecordTable {
  readonly table: string;
  /** The column that holds the key of the record. */
  readonly key: string;
}

/** Those of a stream, the parent first. */
export type RecordTables = readonly [RecordTable, ...RecordTable[]];

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? NaN;
}

/** Reads by events, without pauses, because the driver's stream can stall after a pause. */
async function readChunks(source: Readable): Promise<{ chunks: Buffer[]; lines: number }> {
  const chunks: Buffer[] = [];
  let lines = 0;
  let held: Buffer[] = [];
  let size = 0;
  source.on('data', (piece: Buffer) => {
    for (let at = piece.indexOf(NEWLINE); at >= 0; at = piece.indexOf(NEWLINE, at + 1)) lines += 1;
    held.push(piece);
    size += piece.length;
    if (size < CHUNK_BYTES) return;
    chunks.push(Buffer.concat(held));
    held = [];
    size = 0;
  });
  await finished(source);
  chunks.push(Buffer.concat(held));
  return { chunks, lines };
}
