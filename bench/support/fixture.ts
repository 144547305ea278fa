/** A warehouse and a service to fill it from, and the cost of work with both to the three processes. */
import { streamShape } from '../../src/engine/database/table-shape.ts';
import { streamNamed } from '../../src/engine/streams/index.ts';
import { type BenchServer, type Warehouse } from './database.ts';
import type { toFigure } from './figures.ts';
import { type Service, type ServiceSize, startService, type Work } from './processes.ts';
import { processorSeconds } from './processor-time.ts';
import type { BenchStream } from './promises.ts';

interface Loaded {
  readonly noun: string;
  readonly size: (records: number) => ServiceSize;
}

export const LOADED: Readonly<Record<BenchStream, Loaded>> = {
  followups: { noun: 'follow-ups', size: (followups) => ({ followups, users: 500 }) },
  equipments: { noun: 'equipment', size: (equipment) => ({ equipment }) },
  resources: { noun: 'resources', size: (resources) => ({ resources }) },
  'training-employee-status': { noun: 'employees', size: (employees) => ({ employees }) },
};

export function tablesOf(stream: BenchStream): string[] {
  const { parent, children } = streamShape(streamNamed(stream));
  return [parent, ...children].map(({ name }) => name);
}

export interface Fixture {
  readonly server: BenchServer;
  readonly warehouse: Warehouse;
  readonly service: Service;
  readonly stream: BenchStream;
}

export type Cost = Omit<Parameters<typeof toFigure>[0], 'figure' | 'floor'>;

export const envOf = ({ service, warehouse }: Fixture) => ({ ...service.env, DATABASE_URL: warehouse.url });

/** Does the work; returns its cost to the three processes. */
export async function measure(
  { server, warehouse, service, stream }: Fixture,
  work: () => Promise<Work>,
): Promise<Cost> {
  await warehouse.connection.query('checkpoint');
  const [walBefore, writtenBefore] = [await warehouse.walBytes(), await warehouse.rowsWritten()];
  const before = [await processorSeconds(service.pid), await server.cpuSeconds()] as const;
  const done = await work();
  const after = [await processorSeconds(service.pid), await server.cpuSeconds()] as const;
  const spent = (position: 0 | 1): number | null => {
    const [from, to] = [before[position], after[position]];
    return from === null || to === null ? null : to - from;
  };
  return {
    work: done,
    walBytes: (await warehouse.walBytes()) - walBefore,
    rowsWritten: (await warehouse.rowsWritten()) - writtenBefore,
    rows: await countRows(warehouse, tablesOf(stream)),
    serviceCpuSeconds: spent(0),
    databaseCpuSeconds: spent(1),
  };
}

async function countRows(warehouse: Warehouse, tables: readonly string[]): Promise<number> {
  let rows = 0;
  for (const table of tables) {
    const [row] = await warehouse.connection.query<{ rows: string }>(
      `select count(*)::text as rows from safety."${table}"`,
    );
    rows += Number(row?.rows);
  }
  return rows;
}

export async function withService(
  options: Parameters<typeof startService>[0],
  work: (service: Service) => Promise<void>,
): Promise<void> {
  const service = await startService(options);
  try {
    await work(service);
  } finally {
    await service.close();
  }
}

export async function withWarehouse(
  { server, service, stream }: Omit<Fixture, 'warehouse'>,
  work: (fixture: Fixture) => Promise<void>,
): Promise<void> {
  const warehouse = await server.createWarehouse();
  try {
    await work({ server, warehouse, service, stream });
  } finally {
    await warehouse.drop();
  }
}
