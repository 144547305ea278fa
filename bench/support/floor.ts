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
  { parent, parentKey, children, mostParents }: FloorRequest,
): Promise<Floor> {
  const sql = connect(warehouse.url);
  try {
    await sql.unsafe(`create schema if not exists floor`);
    await sql.unsafe(
      `create temporary table chosen as select account_id, "${parentKey}" as key from safety."${parent}" order by 2 limit ${mostParents}`,
    );
    const tables = [{ table: parent, key: parentKey }, ...children];
    const loads: TableRows[] = [];
    let rows = 0;
    for (const { table, key } of tables) {
      await createBareTable(sql, table);
      const source = await sql
        .unsafe(
          `copy (select t.* from safety."${table}" t join chosen c on c.account_id = t.account_id and c.key = t."${key}") to stdout`,
        )
        .readable();
      const chunks = await readChunks(source);
      rows += chunks.lines;
      loads.push({ table, chunks: chunks.chunks });
    }
    const seconds: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      await sql.unsafe(`truncate ${tables.map(({ table }) => `floor."${table}"`).join(', ')}`);
      await sql.unsafe('checkpoint');
      const startedMs = performance.now();
      await copyIn(sql, loads);
      seconds.push((performance.now() - startedMs) / 1000);
    }
    await sql.unsafe('drop schema floor cascade');
    const median = seconds.toSorted((a, b) => a - b)[Math.floor(RUNS / 2)] ?? NaN;
    return { rows, seconds: median, rowsPerSecond: rows / median };
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

/** In one transaction. */
async function copyIn(sql: postgres.Sql, loads: readonly TableRows[]): Promise<void> {
  await sql.begin(async (tx) => {
    for (const { table, chunks } of loads) {
      const sink = await tx.unsafe(`copy floor."${table}" from stdin`).writable();
      for (const chunk of chunks)
        if (!sink.write(chunk)) await new Promise((resolve) => sink.once('drain', resolve));
      sink.end();
      await finished(sink);
    }
  });
}

async function readAccount(url: string, tables: readonly string[], account: string) {
  const sql = connect(url);
  const read: TableRows[] = [];
  let lines = 0;
  for (const table of tables) {
    const source = await sql
      .unsafe(`copy (select * from safety."${table}" where account_id = '${account}') to stdout`)
      .readable();
    const of = await readChunks(source);
    read.push({ table, chunks: of.chunks });
    lines += of.lines;
  }
  await sql.end({ timeout: 1 });
  return { read, lines };
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
    const loads: TableRows[][] = [];
    let rows = 0;
    for (const account of accounts) {
      const { read, lines } = await readAccount(warehouse.url, tables, account);
      loads.push(read);
      rows += lines;
    }
    await Promise.all(sessions.map((sql) => sql.unsafe('select 1')));
    const startedMs = performance.now();
    await Promise.all(sessions.map((sql, position) => copyIn(sql, loads[position] ?? [])));
    const seconds = (performance.now() - startedMs) / 1000;
    return { rows, seconds, rowsPerSecond: rows / seconds };
  } finally {
    await Promise.all(sessions.map((sql) => sql.end({ timeout: 5 })));
  }
}

interface FloorRequest {
  readonly parent: string;
  readonly parentKey: string;
  readonly children: readonly ChildTable[];
  readonly mostParents: number;
}

export interface ChildTable {
  readonly table: string;
  /** The column that holds the parent's key. */
  readonly key: string;
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
