/**
 * The cost of a first load and an unchanged read of each stream, as whole processes, beside the floor (one `COPY` of the same
 * rows) and the peer DuckDB in the same run, and whether the promises of docs/performance.md are kept.
 *
 *   npm run bench                          the four streams, medians of three rounds: some ten minutes
 *   npm run bench -- --records 20000 --rounds 5 --only equipments
 *   npm run bench -- --more                also small loads, quiet runs, changes, and a service that is slow
 *   npm run bench -- --large               also a million records, and one response of more than 500 MB
 *   npm run bench -- --markdown            also the table for docs/performance.md
 *
 * The service, the worker and PostgreSQL are processes of their own. One JSON line a figure goes to stdout, the tables to
 * stderr. DATABASE_URL: a server on which databases may be created; else the embedded one, fsync on.
 */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type BenchServer, startServer } from './support/database.ts';
import { HOW_TO_ADD, isDuckDbThere, peerSchema } from './support/duckdb.ts';
import { type Figure, medianOf, renderFigures, renderMarkdown, toFigure } from './support/figures.ts';
import { type Floor, measureFloor } from './support/floor.ts';
import { runPeer, runWorker, type startService } from './support/processes.ts';
import {
  BENCH_STREAMS,
  type BenchStream,
  judge,
  type Phase,
  renderPromises,
  type StreamFigure,
} from './support/promises.ts';
import {
  type Cost,
  envOf,
  LOADED,
  measure,
  type Fixture,
  tablesOf,
  withService,
  withWarehouse,
} from './support/fixture.ts';

const { values: flags } = parseArgs({
  options: {
    records: { type: 'string', default: '100000' },
    rounds: { type: 'string', default: '3' },
    more: { type: 'boolean', default: false },
    large: { type: 'boolean', default: false },
    only: { type: 'string', default: '' },
    markdown: { type: 'boolean', default: false },
  },
});

/** Records that the floor is measured with, at most: it is the same for each of them. */
const MOST_FLOOR_RECORDS = 100_000;
const CHANGE_SHARE = 0.01;

const figures: Figure[] = [];
const promised: StreamFigure[] = [];
/** Not the worker's. */
const ofPeer = new Set<Figure>();

function print(figure: Figure): Figure {
  figures.push(figure);
  process.stdout.write(`${JSON.stringify(figure)}\n`);
  return figure;
}

interface Round {
  readonly floor: Floor;
  readonly costs: Readonly<Partial<Record<`${'worker' | 'peer'} ${Phase}`, Cost>>>;
}

/** Both phases by the worker and, where it is there, by the peer. The vacuum after a first load is no part of a figure. */
async function measureRound(fixture: Fixture, hasPeer: boolean): Promise<Round> {
  const { warehouse, stream } = fixture;
  const tidy = () => warehouse.connection.query('vacuum (analyze)');
  const again = stream === 'followups' ? ['backfill', stream, '--restart'] : ['sync', stream, '--force'];
  const first = await measure(fixture, () => runWorker(['sync', stream], envOf(fixture)));
  await tidy();
  // A training list with an unchanged calculation time is not read: this makes the time seem changed.
  await warehouse.connection.query(
    `update safety_sync.stream_state set calculated_at = calculated_at - interval '1 hour'`,
  );
  const unchanged = await measure(fixture, () => runWorker(again, envOf(fixture)));
  const floor = await measureFloor(warehouse, {
    tables: tablesOf(stream),
    mostParents: MOST_FLOOR_RECORDS,
  });
  const costs = { 'worker first': first, 'worker unchanged': unchanged };
  if (!hasPeer) return { floor, costs };
  await warehouse.connection.query(peerSchema(stream));
  const peerFirst = await measure(fixture, () => runPeer(stream, envOf(fixture)));
  await tidy();
  const peerUnchanged = await measure(fixture, () => runPeer(stream, envOf(fixture)));
  return { floor, costs: { ...costs, 'peer first': peerFirst, 'peer unchanged': peerUnchanged } };
}

interface LoadRequest {
  readonly stream: BenchStream;
  readonly records: number;
  readonly rounds?: number;
  /** The promises are about these loads. */
  readonly isPromised?: true;
}

const count = (records: number): string => (records >= 1e6 ? `${records / 1e6}M` : `${records / 1000}k`);

async function loadStream(server: BenchServer, request: LoadRequest): Promise<void> {
  const { stream, records, rounds = 1, isPromised = false } = request;
  const { size, noun } = LOADED[stream];
  await withService({ size: size(records) }, async (service) => {
    const all: Round[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await withWarehouse({ server, service, stream }, async (fixture) => {
        all.push(await measureRound(fixture, isPromised && isDuckDbThere()));
      });
    }
    for (const phase of ['first', 'unchanged'] as const) {
      const name = `${phase === 'first' ? 'first load' : phase}, ${count(records)} ${noun}`;
      for (const who of ['worker', 'peer'] as const) {
        const figure = who === 'worker' ? name : `${name}: DuckDB`;
        const [one, ...others] = all.flatMap(({ floor, costs: { [`${who} ${phase}` as const]: cost } }) =>
          cost === undefined ? [] : [toFigure({ figure, floor, ...cost })],
        );
        if (one === undefined) continue;
        const median = print(medianOf([one, ...others]));
        if (who === 'peer') ofPeer.add(median);
        else if (isPromised) promised.push({ stream, phase, figure: median });
      }
    }
  });
}

/** Runs with little work, or that wait for the service: a comparison with the floor has no meaning. */
async function measureFollowups(
  server: BenchServer,
  service: Parameters<typeof startService>[0],
  steps: readonly {
    readonly name?: string;
    readonly env?: Readonly<Record<string, string>>;
    readonly afterMs?: number;
  }[],
): Promise<void> {
  await withService(service, (running) =>
    withWarehouse({ server, service: running, stream: 'followups' }, async (fixture) => {
      for (const { name, env = {}, afterMs = 0 } of steps) {
        await new Promise((resolve) => setTimeout(resolve, afterMs));
        const cost = await measure(fixture, () =>
          runWorker(['sync', 'followups'], { ...envOf(fixture), ...env }),
        );
        if (name !== undefined) print(toFigure({ figure: name, floor: null, ...cost }));
      }
    }),
  );
}

async function measureMore(server: BenchServer, records: number): Promise<void> {
  const users = 500;
  await loadStream(server, { stream: 'followups', records: records / 10 });
  // The first run that has nothing to store counts the past days.
  await measureFollowups(server, { size: { followups: records, users } }, [
    {},
    {},
    { name: `quiet incremental, ${count(records)} follow-ups` },
  ]);
  await measureFollowups(
    server,
    { size: { followups: records, users }, changesPerMinute: records * CHANGE_SHARE },
    [
      {},
      {
        name: `1% changed, ${count(records)} follow-ups`,
        afterMs: 60_000,
        env: { FOLLOWUPS_OVERLAP_MS: '0' },
      },
    ],
  );
  for (const concurrency of ['1', '4', '8']) {
    const name = `50 ms latency, concurrency ${concurrency}`;
    const size = { followups: records / 5, users };
    await measureFollowups(server, { size, latencyMs: 50 }, [
      { name, env: { API_CONCURRENCY: concurrency } },
    ]);
  }
}

const server = await startServer();
try {
  const records = Number(flags.records);
  for (const stream of BENCH_STREAMS) {
    if (stream.includes(flags.only))
      await loadStream(server, { stream, records, rounds: Number(flags.rounds), isPromised: true });
  }
  if (flags.more) await measureMore(server, records);
  if (flags.large) {
    for (const stream of ['followups', 'resources'] as const)
      await loadStream(server, { stream, records: 1e6 });
  }
  const load = loadavg().map((value) => value.toFixed(1));
  process.stderr.write(
    `${renderFigures(figures)}\n${cpus()[0]?.model ?? 'a processor'}, ${availableParallelism()} cores, Node ${process.versions.node}, ${server.description}; service, worker and PostgreSQL share them; load ${load.join(', ')}\n`,
  );
  if (!isDuckDbThere()) process.stderr.write(`${HOW_TO_ADD}\n`);
  if (flags.markdown) process.stderr.write(`${renderMarkdown(figures)}\n`);
  const ofWorker = figures.filter((figure) => !ofPeer.has(figure));
  process.stderr.write(`\n${renderPromises(judge(promised, ofWorker))}\n`);
} finally {
  await server.close();
}
