/** A warehouse and a service to fill it from, and the cost of work with both to the three processes. */
import { type BenchServer, type Warehouse } from './database.ts';
import type { toFigure } from './figures.ts';
import type { ChildTable } from './floor.ts';
import { type Service, type ServiceSize, startService, type Work } from './processes.ts';
import { processorSeconds } from './processor-time.ts';
import type { BenchStream } from './promises.ts';

interface Loaded {
  readonly noun: string;
  readonly size: (records: number) => ServiceSize;
  readonly parent: string;
  readonly parentKey: string;
  readonly children: readonly ChildTable[];
}

export const LOADED: Readonly<Record<BenchStream, Loaded>> = {
  followups: {
    noun: 'follow-ups',
    size: (followups) => ({ followups, users: 500 }),
    parent: 'followups',
    parentKey: 'id',
    children: [
      { table: 'followup_messages', key: 'followup_id' },
      { table: 'followup_attachments', key: 'followup_id' },
    ],
  },
  equipments: {
    noun: 'equipment',
    size: (equipment) => ({ equipment }),
    parent: 'equipment',
    parentKey: 'id',
    children: [
      { table: 'equipment_schedules', key: 'equipment_id' },
      { table: 'equipment_metavalues', key: 'equipment_id' },
      { table: 'equipment_asked_types', key: 'equipment_id' },
    ],
  },
  resources: {
    noun: 'resources',
    size: (resources) => ({ resources }),
    parent: 'resources',
    parentKey: 'id',
    children: [{ table: 'resource_versions', key: 'resource_id' }],
  },
  'training-employee-status': {
    noun: 'employees',
    size: (employees) => ({ employees }),
    parent: 'training_employee_status',
    parentKey: 'user_id',
    children: [{ table: 'training_completions', key: 'user_id' }],
  },
};

export interface Stage {
  readonly server: BenchServer;
  readonly warehouse: Warehouse;
  readonly service: Service;
  readonly stream: BenchStream;
}

export type Cost = Omit<Parameters<typeof toFigure>[0], 'figure' | 'floor'>;

export const envOf = ({ service, warehouse }: Stage) => ({ ...service.env, DATABASE_URL: warehouse.url });

/** Does the work; returns its cost to the three processes. */
export async function measure(
  { server, warehouse, service, stream }: Stage,
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
    rows: await countRows(warehouse, LOADED[stream]),
    serviceCpuSeconds: spent(0),
    databaseCpuSeconds: spent(1),
  };
}

async function countRows(warehouse: Warehouse, { parent, children }: Loaded): Promise<number> {
  let rows = 0;
  for (const table of [parent, ...children.map((child) => child.table)]) {
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
  { server, service, stream }: Omit<Stage, 'warehouse'>,
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const warehouse = await server.createWarehouse();
  try {
    await work({ server, warehouse, service, stream });
  } finally {
    await warehouse.drop();
  }
}
