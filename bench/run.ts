/**
 * The cost of a first load and an unchanged read of each stream, as whole processes, beside the floor (one `COPY` of the same
 * rows) and the peer DuckDB in the same run, and whether the promises of docs/performance.md are kept.
 *
 *   npm run bench                          the four streams, medians of three rounds: some ten minutes
 *   npm run bench -- --records 20000 --rounds 5 --only equipments
 *
 * The service, the worker and PostgreSQL are processes of their own. One JSON line a figure goes to stdout, the tables to
 * stderr. DATABASE_URL: a server on which databases may be created; else the embedded one, fsync on.
 */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { type BenchServer, startServer } from './support/database.ts';
import { HOW_TO_ADD, isDuckDbThere, peerSchema } from './support/duckdb.ts';
import { type Figure, medianOf, renderFigures, toFigure } from './support/figures.ts';
import { type Floor, measureFloor } from './support/floor.ts';
import { runPeer, runWorker } from './support/processes.ts';
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
    only: { type: 'string', default: '' },
  },
});

const figures: Figure[] = [];
const promised: StreamFigure[] = [];

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
  const floor = await measureFloor(warehouse, tablesOf(stream));
  const costs = { 'worker first': first, 'worker unchanged': unchanged };
  if (!hasPeer) return { floor, costs };
  await warehouse.connection.query(peerSchema(stream));
  const peerFirst = await measure(fixture, () => runPeer(stream, envOf(fixture)));
  await tidy();
  const peerUnchanged = await measure(fixture, () => runPeer(stream, envOf(fixture)));
  return { floor, costs: { ...costs, 'peer first': peerFirst, 'peer unchanged': peerUnchanged } };
}

async function loadStream(server: BenchServer, stream: BenchStream, records: number): Promise<void> {
  const { size, noun } = LOADED[stream];
  await withService({ size: size(records) }, async (service) => {
    const all: Round[] = [];
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      await withWarehouse({ server, service, stream }, async (fixture) => {
        all.push(await measureRound(fixture, isDuckDbThere()));
      });
    }
    for (const phase of ['first', 'unchanged'] as const) {
      const [worker, peer] = (['worker', 'peer'] as const).map((who) => {
        const figure = `${phase === 'first' ? 'first load' : phase}, ${records / 1000}k ${noun}${who === 'peer' ? ': DuckDB' : ''}`;
        const [one, ...others] = all.flatMap(({ floor, costs: { [`${who} ${phase}` as const]: cost } }) =>
          cost === undefined ? [] : [toFigure({ figure, floor, ...cost })],
        );
        return one === undefined ? undefined : print(medianOf([one, ...others]));
      });
      if (worker !== undefined) promised.push({ stream, phase, worker, peer });
    }
  });
}

const server = await startServer();
try {
  const records = Number(flags.records);
  for (const stream of BENCH_STREAMS) {
    if (stream.includes(flags.only)) await loadStream(server, stream, records);
  }
  const load = loadavg().map((value) => value.toFixed(1));
  process.stderr.write(
    `${renderFigures(figures)}\n${cpus()[0]?.model ?? 'a processor'}, ${availableParallelism()} cores, Node ${process.versions.node}, ${server.description}; service, worker and PostgreSQL share them; load ${load.join(', ')}\n`,
  );
  if (!isDuckDbThere()) process.stderr.write(`${HOW_TO_ADD}\n`);
  process.stderr.write(`\n${renderPromises(judge(promised))}\n`);
} finally {
  await server.close();
}
