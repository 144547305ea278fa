/**
 * What a first load, a re-read and a change cost, each beside the floor: one `COPY` of the same rows, in the same run.
 *
 *   npm run bench                      every figure but the large ones, some minutes
 *   npm run bench -- --streams         every stream with 100,000 records: the promises of docs/performance.md
 *   npm run bench -- --large           also a million records, and one response of more than 500 MB
 *   npm run bench -- --only first      figures whose name holds the text
 *   npm run bench -- --plot docs/performance.svg --markdown
 *
 * The service, the worker and PostgreSQL are processes of their own. One JSON line a figure goes to stdout, the table to
 * stderr. DATABASE_URL: a server on which databases may be created; else the embedded one, fsync on.
 */
import { availableParallelism, cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { type BenchServer, startServer, type Warehouse } from './support/database.ts';
import { type Figure, renderFigures, renderMarkdown, toFigure } from './support/figures.ts';
import { type ChildTable, type Floor, measureFloor } from './support/floor.ts';
import { writePlot } from './support/plot.ts';
import { processorSeconds } from './support/processor-time.ts';
import { runWorker, type Service, type ServiceSize, startService, type Work } from './support/processes.ts';

const { values: flags } = parseArgs({
  options: {
    large: { type: 'boolean', default: false },
    streams: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    plot: { type: 'string' },
    markdown: { type: 'boolean', default: false },
  },
});

/** Records that the floor is measured with, at most: it is the same for each of them. */
const MOST_FLOOR_RECORDS = 100_000;
const CHANGE_SHARE = 0.01;

interface Tables {
  readonly parent: string;
  readonly parentKey: string;
  readonly children: readonly ChildTable[];
}

const TABLES = {
  followups: {
    parent: 'followups',
    parentKey: 'id',
    children: [
      { table: 'followup_messages', key: 'followup_id' },
      { table: 'followup_attachments', key: 'followup_id' },
    ],
  },
  resources: {
    parent: 'resources',
    parentKey: 'id',
    children: [{ table: 'resource_versions', key: 'resource_id' }],
  },
  equipments: {
    parent: 'equipment',
    parentKey: 'id',
    children: [
      { table: 'equipment_schedules', key: 'equipment_id' },
      { table: 'equipment_metavalues', key: 'equipment_id' },
      { table: 'equipment_asked_types', key: 'equipment_id' },
    ],
  },
  'training-employee-status': {
    parent: 'training_employee_status',
    parentKey: 'user_id',
    children: [{ table: 'training_completions', key: 'user_id' }],
  },
} as const satisfies Record<string, Tables>;
type BenchStream = keyof typeof TABLES;

const figures: Figure[] = [];

interface Stage {
  readonly server: BenchServer;
  readonly warehouse: Warehouse;
  readonly service: Service;
  readonly stream: BenchStream;
}

/** Does the work and notes what it cost. `floor: null` measures none. */
async function measure(
  { server, warehouse, service, stream }: Stage,
  name: string,
  args: readonly string[],
  options: { readonly env?: Readonly<Record<string, string>>; readonly floor: Floor | null | 'measure' },
): Promise<Floor | null> {
  const [walBefore, writtenBefore] = [await warehouse.walBytes(), await warehouse.rowsWritten()];
  const env = { ...service.env, DATABASE_URL: warehouse.url, ...options.env };
  const before = [await processorSeconds(service.pid), await server.cpuSeconds()] as const;
  const work: Work = await runWorker(args, env);
  const after = [await processorSeconds(service.pid), await server.cpuSeconds()] as const;
  const spent = (position: 0 | 1): number | null => {
    const [from, to] = [before[position], after[position]];
    return from === null || to === null ? null : to - from;
  };
  const walBytes = (await warehouse.walBytes()) - walBefore;
  const rowsWritten = (await warehouse.rowsWritten()) - writtenBefore;
  const rows = await countRows(warehouse, TABLES[stream]);
  const floor =
    options.floor === 'measure'
      ? await measureFloor(warehouse, { ...TABLES[stream], mostParents: MOST_FLOOR_RECORDS })
      : options.floor;
  const figure = toFigure({
    figure: name,
    rows,
    work,
    floor,
    walBytes,
    rowsWritten,
    serviceCpuSeconds: spent(0),
    databaseCpuSeconds: spent(1),
  });
  figures.push(figure);
  process.stdout.write(`${JSON.stringify(figure)}\n`);
  return floor;
}

async function countRows(warehouse: Warehouse, { parent, children }: Tables): Promise<number> {
  let rows = 0;
  for (const table of [parent, ...children.map((child) => child.table)]) {
    const [row] = await warehouse.connection.query<{ rows: string }>(
      `select count(*)::text as rows from safety."${table}"`,
    );
    rows += Number(row?.rows);
  }
  return rows;
}

async function withStage(
  server: BenchServer,
  stream: BenchStream,
  service: { readonly size: ServiceSize; readonly latencyMs?: number; readonly changesPerMinute?: number },
  work: (stage: Stage) => Promise<void>,
): Promise<void> {
  const warehouse = await server.createWarehouse();
  const running = await startService(service);
  try {
    await work({ server, warehouse, service: running, stream });
  } finally {
    await running.close();
    await warehouse.drop();
  }
}

const count = (records: number): string => (records >= 1e6 ? `${records / 1e6}M` : `${records / 1000}k`);

/** First load, the same again, and a change of one record in a hundred. */
async function followupsOf(server: BenchServer, records: number): Promise<void> {
  const size = { followups: records, users: 500 };
  await withStage(server, 'followups', { size }, async (stage) => {
    const floor = await measure(stage, `first load, ${count(records)} follow-ups`, ['sync', 'followups'], {
      floor: 'measure',
    });
    await measure(stage, `unchanged, ${count(records)} follow-ups`, ['backfill', 'followups', '--restart'], {
      floor,
    });
    // The first run that has nothing to store counts the days that are over.
    await runWorker(['sync', 'followups'], { ...stage.service.env, DATABASE_URL: stage.warehouse.url });
    await measure(stage, `quiet incremental, ${count(records)} follow-ups`, ['sync', 'followups'], {
      floor: null,
    });
  });
}

async function changedFollowups(server: BenchServer, records: number): Promise<void> {
  const changes = records * CHANGE_SHARE;
  const service = { size: { followups: records, users: 500 }, changesPerMinute: changes };
  await withStage(server, 'followups', service, async (stage) => {
    await runWorker(['sync', 'followups'], { ...stage.service.env, DATABASE_URL: stage.warehouse.url });
    await new Promise((resolve) => setTimeout(resolve, 60_000));
    await measure(stage, `1% changed, ${count(records)} follow-ups`, ['sync', 'followups'], {
      env: { FOLLOWUPS_OVERLAP_MS: '0' },
      floor: null,
    });
  });
}

async function snapshot(
  server: BenchServer,
  stream: BenchStream,
  size: ServiceSize,
  name: string,
): Promise<void> {
  await withStage(server, stream, { size }, async (stage) => {
    const floor = await measure(stage, `first load, ${name}`, ['sync', stream], { floor: 'measure' });
    // Of a calculation that has not moved nothing is read: there is nothing to hold against the floor.
    const isAsked = stream !== 'training-employee-status';
    await measure(stage, `unchanged, ${name}`, ['sync', stream, '--force'], {
      floor: isAsked ? floor : null,
    });
  });
}

async function slowService(server: BenchServer, concurrency: number): Promise<void> {
  const service = { size: { followups: 20_000, users: 500 }, latencyMs: 50 };
  await withStage(server, 'followups', service, async (stage) => {
    await measure(stage, `50 ms latency, concurrency ${concurrency}`, ['sync', 'followups'], {
      env: { API_CONCURRENCY: String(concurrency) },
      floor: null,
    });
  });
}

const SCENARIOS: readonly {
  readonly name: string;
  readonly isLarge?: true;
  /** Of the figures that the promises are about. */
  readonly isStream?: true;
  readonly run: (server: BenchServer) => Promise<void>;
}[] = [
  { name: 'followups 10k', run: (server) => followupsOf(server, 10_000) },
  { name: 'followups 100k', isStream: true, run: (server) => followupsOf(server, 100_000) },
  { name: 'followups 1M', isLarge: true, run: (server) => followupsOf(server, 1_000_000) },
  { name: 'changed', isStream: true, run: (server) => changedFollowups(server, 100_000) },
  {
    name: 'equipments 100k',
    isStream: true,
    isLarge: true,
    run: (server) => snapshot(server, 'equipments', { equipment: 100_000 }, '100k equipment'),
  },
  {
    name: 'training 100k',
    isStream: true,
    isLarge: true,
    run: (server) => snapshot(server, 'training-employee-status', { employees: 100_000 }, '100k employees'),
  },
  {
    name: 'resources 100k',
    isStream: true,
    isLarge: true,
    run: (server) => snapshot(server, 'resources', { resources: 100_000 }, '100k resources'),
  },
  {
    name: 'equipments',
    run: (server) => snapshot(server, 'equipments', { equipment: 20_000 }, '20k equipment'),
  },
  {
    name: 'training',
    run: (server) => snapshot(server, 'training-employee-status', { employees: 20_000 }, '20k employees'),
  },
  {
    name: 'resources',
    run: (server) => snapshot(server, 'resources', { resources: 20_000 }, '20k resources'),
  },
  { name: 'latency 1', run: (server) => slowService(server, 1) },
  { name: 'latency 4', run: (server) => slowService(server, 4) },
  { name: 'latency 8', run: (server) => slowService(server, 8) },
  {
    name: 'response',
    isLarge: true,
    run: (server) => snapshot(server, 'resources', { resources: 1_000_000 }, 'one response, 1M resources'),
  },
];

const server = await startServer();
try {
  for (const { name, isLarge = false, isStream = false, run } of SCENARIOS) {
    const isAsked = flags.only === '' ? flags.large || !isLarge : name.includes(flags.only);
    if (flags.streams ? isStream && name.includes(flags.only) : isAsked) await run(server);
  }
  process.stderr.write(
    `${renderFigures(figures)}\n${cpus()[0]?.model ?? 'a processor'}, ${availableParallelism()} cores, Node ${process.versions.node}, ${server.description}; service, worker and PostgreSQL share them\n`,
  );
  if (flags.markdown) process.stderr.write(`${renderMarkdown(figures)}\n`);
  if (flags.plot !== undefined) await writePlot(flags.plot, figures);
} finally {
  await server.close();
}
