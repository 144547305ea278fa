/**
 * Makes PostgreSQL fail a run at its n-th write or right before a commit, so that every step can fail. On a Citus cluster,
 * the node with the account's rows fails and counts its own writes.
 */
import { inject } from 'vitest';
import type { TestWorker } from './world.ts';

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

/** Objects that Citus does not propagate. */
async function onEveryNode({ query }: Pick<TestWorker, 'query'>, text: string): Promise<void> {
  if (inject('testServerNodes').length === 1) {
    await query(text);
    return;
  }
  const failed = await query(
    `select nodeid, result from run_command_on_all_nodes($$${text}$$) where not success`,
  );
  if (failed.length > 0) throw new Error(JSON.stringify(failed));
}

export async function createSaboteur(worker: Pick<TestWorker, 'query'>) {
  await worker.query('create schema sabotage');
  await onEveryNode(worker, 'create sequence sabotage.writes');
  await onEveryNode(worker, `create table sabotage.plan as select 0::bigint as at, 'never' as how`);
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
    await onEveryNode(
      worker,
      `with restarted as (select setval('sabotage.writes', 1, false))
       update sabotage.plan set at = ${at}, how = '${how}' from restarted`,
    );
  };
  return {
    /** The n-th write from now on (1: the next one) fails. `terminate` ends the session, `refuse` the statement. */
    arm: (nth: number, how: 'terminate' | 'refuse') => plan(nth, how),
    disarm: () => plan(0, 'never'),
  };
}

/** Ends the session of a stream's running run; returns whether there was one. */
export async function terminateSession(worker: Pick<TestWorker, 'query'>, stream: string): Promise<boolean> {
  // Two statements, because Citus would search for the session on the node that stores the run.
  const runs = await worker.query<{ pid: number }>(
    `select backend_pid as pid from safety_sync.runs
     where stream = '${stream}' and status = 'running' and backend_pid is not null`,
  );
  const rows = await worker.query<{ ended: boolean }>(
    `select pg_terminate_backend(pid) as ended from unnest('{${runs.map(({ pid }) => pid).join()}}'::int[]) pid`,
  );
  return rows.some(({ ended }) => ended);
}
