/**
 * The time that PostgreSQL itself takes for the same rows: one `COPY` into tables that have nothing but their
 * primary keys.
 */
import type { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import type postgres from 'postgres';
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

/** The median of several loads of the present rows of the tables. */
export async function measureFloor(warehouse: Warehouse, tables: readonly string[]): Promise<Floor> {
  const sql = connect(warehouse.url);
  try {
    await sql.unsafe(`create schema if not exists floor`);
    for (const table of tables) await createBareTable(sql, table);
    const { loads, rows } = await readRows(sql, tables);
    const seconds: number[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      await sql.unsafe(`truncate ${tables.map((table) => `floor."${table}"`).join(', ')}`);
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

async function readRows(
  sql: postgres.Sql,
  tables: readonly string[],
): Promise<{ loads: TableRows[]; rows: number }> {
  const loads: TableRows[] = [];
  let rows = 0;
  for (const table of tables) {
    const { chunks, lines } = await readChunks(
      await sql.unsafe(`copy safety."${table}" to stdout`).readable(),
    );
    loads.push({ table, chunks });
    rows += lines;
  }
  return { loads, rows };
}

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
