/** Lets PostgreSQL itself strike down a run at its n-th write, or right before a commit: every step can be hit. */
import type { TestWorker } from './worker.ts';

export interface Saboteur {
  /** The n-th write from now on (1: the next one) fails. `terminate` ends the session, `refuse` the statement. */
  arm(nth: number, how: 'terminate' | 'refuse'): Promise<void>;
  disarm(): Promise<void>;
  /** Writes since `arm` or `disarm`. */
  writes(): Promise<number>;
}

const STRIKE = `create function sabotage.strike() returns trigger language plpgsql as $$
  declare
    plan record;
  begin
    select * into plan from sabotage.plan;
    -- A sequence counts on whatever is rolled back: each plan strikes once.
    if nextval('sabotage.writes') = plan.at then
      if plan.how = 'refuse' then
        raise exception 'sabotage' using errcode = '53100';
      end if;
      perform pg_terminate_backend(pg_backend_pid());
      perform pg_sleep(10);
    end if;
    return null;
  end $$`;

export async function createSaboteur(worker: Pick<TestWorker, 'query'>): Promise<Saboteur> {
  await worker.query('create schema sabotage');
  await worker.query('create sequence sabotage.writes');
  await worker.query(`create table sabotage.plan as select 0::bigint as at, 'never' as how`);
  await worker.query(STRIKE);
  const tables = await worker.query<{ name: string }>(
    `select format('%I.%I', n.nspname, c.relname) as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname in ('safety', 'safety_sync') and c.relkind = 'r' order by 1`,
  );
  for (const { name } of tables) {
    await worker.query(`create trigger sabotage after insert or update or delete on ${name}
      for each statement execute function sabotage.strike()`);
  }
  await worker.query(`create constraint trigger sabotage_commit after update on safety_sync.runs
    deferrable initially deferred for each row execute function sabotage.strike()`);
  const plan = async (at: number, how: string): Promise<void> => {
    await worker.query(`select setval('sabotage.writes', 1, false)`);
    await worker.query(`update sabotage.plan set at = ${at}, how = '${how}'`);
  };
  return {
    arm: (nth, how) => plan(nth, how),
    disarm: () => plan(0, 'never'),
    async writes() {
      const [row] = await worker.query<{ writes: number }>(
        'select case when is_called then last_value else 0 end::int as writes from sabotage.writes',
      );
      return row?.writes ?? 0;
    },
  };
}

/** Ends the database session of the run of a stream that is under way; answers whether there was one. */
export async function terminateSession(worker: Pick<TestWorker, 'query'>, stream: string): Promise<boolean> {
  const rows = await worker.query<{ ended: boolean }>(
    `select pg_terminate_backend(backend_pid) as ended from safety_sync.runs
     where stream = '${stream}' and status = 'running' and backend_pid is not null`,
  );
  return rows.some(({ ended }) => ended);
}
