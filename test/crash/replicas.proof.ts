/** Two workers and manual commands on one warehouse: no stream is run twice at the same time (contract, 5.8). */
import { expect, test } from 'vitest';
import { createCliFixture } from '../support/cli-fixture.ts';
import { untilTestEnds } from '../support/lifetime.ts';
import { expectWarehouseEqualsSource } from '../support/source-oracle.ts';

const EVERY_SECOND = '* * * * * *';
const SIZE = { followups: 60, employees: 12, equipment: 12, resources: 10, users: 10 };
/** A run sends these requests one after the other. */
const ONE_BY_ONE = ['resources.list', 'equipments.list', 'training-employee-status.list'];

interface Row {
  readonly runs: number;
  readonly overlapping: number;
  readonly running: number;
  readonly owners: number;
  readonly nameless: number;
}

test('the runs of a stream never overlap, with two replicas on a schedule of one second and manual runs of every kind', async () => {
  const inFlight = new Map<string, number>();
  let mostAtOnce = 0;
  const fixture = untilTestEnds(
    await createCliFixture({
      sandbox: {
        size: SIZE,
        latencyMs: 15,
        onRequest: ({ method, outcome }) => {
          if (ONE_BY_ONE.includes(method) && outcome === 'ok')
            inFlight.set(method, (inFlight.get(method) ?? 0) - 1);
        },
        hooks: {
          beforeResponse: ({ method }) => {
            if (!ONE_BY_ONE.includes(method)) return;
            inFlight.set(method, (inFlight.get(method) ?? 0) + 1);
            mostAtOnce = Math.max(mostAtOnce, inFlight.get(method) ?? 0);
          },
        },
      },
    }),
  );
  const { cli, env, sandbox } = fixture;
  sandbox.live.start();
  const replicas = [1, 2].map(() => cli.start(['start'], { ...env, SYNC_CRON: EVERY_SECOND }));
  await Promise.all(replicas.map((replica) => replica.untilStderr(/resources: succeeded/)));
  const manual = [['sync', '--force'], ['backfill', 'followups', 'resources'], ['reconcile']].map((args) =>
    cli.run(args, env),
  );
  for (const { code, stderr } of await Promise.all(manual)) expect(code, stderr).toBe(0);
  sandbox.live.stop();
  for (const replica of replicas) replica.kill('SIGTERM');
  for (const replica of replicas) expect((await replica.finished).code).toBe(0);

  const [row] = await fixture.query<Row>(`with r as (
      select *, lag(finished_at) over (partition by account_id, stream order by started_at) as before
      from safety_sync.runs where backend_pid is not null)
    select count(*)::int as runs, count(*) filter (where started_at < before)::int as overlapping,
      count(*) filter (where status = 'running')::int as running, count(distinct owner)::int as owners,
      count(*) filter (where owner !~ ' pid \\d+$')::int as nameless from r`);
  expect(row).toMatchObject({ overlapping: 0, running: 0, nameless: 0 });
  expect(row?.runs).toBeGreaterThan(15);
  expect(row?.owners).toBeGreaterThanOrEqual(4);
  expect(mostAtOnce).toBe(1);
  expect((await cli.run(['sync', '--force'], env)).code).toBe(0);
  const query = fixture.query.bind(fixture);
  await expectWarehouseEqualsSource(
    { sandbox, settings: { equipmentTypes: sandbox.equipmentTypes }, query },
    { exceptDeletedFollowups: true },
  );
}, 120_000);
