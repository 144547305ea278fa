/**
 * Deliberate breaks that no tool makes: SQL, the order of transactions, processes, files. `npm run mutation:pure` mutates the
 * pure folders. Each break is detected by the tests that it names; its search text is in its file exactly once.
 */
interface Break {
  /** The broken behaviour. */
  readonly breaks: string;
  readonly file: string;
  readonly search: string;
  /** Default: nothing. */
  readonly replace?: string;
  /** `file` or `file > part of a name`: at least one of these tests must fail. */
  readonly tests: readonly string[];
}

/** By the point in "What always holds" of the contract: each is broken at least once. */
const BREAKS: Readonly<Record<1 | 2 | 3 | 4 | 5 | 6 | 7 | 8, readonly [Break, ...Break[]]>> = {
  1: [
    {
      breaks: 'a slice is recorded as read before its records are stored',
      file: 'src/engine/sync/run-steps.ts',
      search: 'writes.push(...(step.writes ?? []));',
      replace: 'await writeControlTables(run, new Date().toISOString(), step.writes ?? []);',
      tests: ['test/crash/backfill.test.ts'],
    },
    {
      breaks: 'a batch that was compared before the one ahead of it was stored is taken as it is',
      file: 'src/engine/loading/load.ts',
      search: 'if (records.some(({ key }) => key !== null && keysAhead.has(key))) await queue;',
      tests: ['test/integration/loader.test.ts'],
    },
    {
      breaks: 'a failed run is closed inside of a transaction that is rolled back',
      file: 'src/engine/sync/run-stream.ts',
      search: 'await load?.abort();',
      tests: ['test/integration/snapshots.test.ts > an empty response fails'],
    },
    {
      breaks: 'children of a changed record are not replaced',
      file: 'src/engine/loading/merge.ts',
      search: 'if ((written?.updated ?? 0) > 0 && child.history === null)',
      replace: 'if ((written?.updated ?? 0) < 0 && child.history === null)',
      tests: [
        'test/integration/merge.test.ts',
        'test/contract/streams-battery.test.ts',
        'test/model/model.test.ts',
      ],
    },
    {
      breaks: 'an open follow-up has the day on which it was closed before',
      file: 'migrations/views/followup_overview.sql',
      search: 'case when f.is_open is not true then f.resolved_on end as resolved_on',
      replace: 'f.resolved_on as resolved_on',
      tests: ['test/integration/facts.test.ts > followup_overview counts'],
    },
    {
      breaks: 'the event of a closing keeps the time that the source has corrected',
      file: 'migrations/views/followup_events.sql',
      search: 'coalesce(case when s.is_present then s.resolved_last end, s.resolved_at,',
      replace: 'coalesce(s.resolved_at,',
      tests: ['test/integration/facts.test.ts > followup_events has the events'],
    },
    {
      breaks: 'an inspection that was taken back at the source counts, and hides those after it',
      file: 'src/engine/history/completions.ts',
      search: "k.completed_at > coalesce(b.completed_at, '-infinity')",
      replace: 'false',
      tests: ['test/integration/facts.test.ts > corrected or taken back'],
    },
    {
      breaks: 'a changed follow-up that a device’s clock dates ahead holds its state back until then',
      file: 'src/engine/history/history-sql.ts',
      search: 'sql`least(${name(parent)}.${name(since)}, ${now})`',
      replace: 'sql`coalesce(${name(parent)}.${name(since)}, ${now})`',
      tests: ['test/integration/history.test.ts > clock dates ahead'],
    },
    {
      breaks: 'checksums are not compared: what changed counts as unchanged',
      file: 'src/engine/loading/compare.ts',
      search: "when t._hash = k.hash then '0'",
      replace: "when t._hash is not null then '0'",
      tests: ['test/contract/streams-battery.test.ts > one new and one changed'],
    },
    {
      breaks: 'dead runs are not closed',
      file: 'src/engine/sync/run-stream.ts',
      search: 'const dead = await closeDeadRuns(db, { accountId, stream: asked.stream }, context.owner);',
      replace: 'const dead = await Promise.resolve(closeDeadRuns.length - 2);',
      tests: ['test/contract/streams-battery.test.ts > dead worker'],
    },
    {
      breaks: 'a signal is listened for only when the program is loaded',
      file: 'src/main.ts',
      search: "import './cli/lean-memory.ts';",
      replace: "import './cli/lean-memory.ts';\nimport './cli/program.ts';",
      tests: ['test/e2e/early-signal.test.ts > ends the worker with 0 before'],
      // Only this one: where the signal is lost, a test waits for its timeout.
    },
    {
      breaks: 'a view leans on a primary key, so that a restore into an empty database fails',
      file: 'migrations/views/reporting_clock.sql',
      search: 'max(s.timezone) as timezone, (now() at time zone max(s.timezone))::date as today',
      replace: 's.timezone, (now() at time zone s.timezone)::date as today',
      tests: ['test/integration/schema.test.ts > depends on a primary key'],
    },
    {
      breaks: 'readers see a retry of stored issues as the last success of the stream',
      file: 'migrations/views/freshness.sql',
      search: "r.status = 'succeeded' and (r.requests > 0 or r.stream = 'users')",
      replace: "r.status = 'succeeded'",
      tests: ['test/integration/freshness.test.ts'],
    },
    {
      breaks: 'a skipped run hides from readers that the one before it failed',
      file: 'migrations/views/freshness.sql',
      search: "(r.status = 'failed' or ",
      replace: "(r.status in ('failed', 'skipped') or ",
      tests: ['test/integration/freshness.test.ts'],
    },
    {
      breaks: 'a stop waits for statements that take long',
      file: 'src/engine/database/connection.ts',
      search: "options.signal?.addEventListener('abort', cancelAll, { signal: closing.signal });",
      tests: ['test/e2e/early-signal.test.ts > during a statement'],
    },
    {
      breaks: 'a command whose reader goes away leaves its database server running',
      file: 'src/main.ts',
      search: "stop.abort(new Error('the end of the reader'));",
      replace: 'process.exit(0);',
      tests: ['test/e2e/embedded.test.ts > reader of its output ends'],
    },
    {
      breaks: 'time-outs of the role end a load',
      file: 'src/engine/database/session-settings.ts',
      search: "set_config(name, '0', false)",
      replace: 'name',
      tests: ['test/integration/role-timeouts.proof.ts'],
    },
    {
      breaks: 'rows are committed before the ledger, the state and the counts that belong to them',
      file: 'src/engine/loading/transaction.ts',
      search: 'await beforeCommit(counts, merged, time);',
      replace:
        'await session.commit({ isDurable: false });\n    await session.begin();\n    await beforeCommit(counts, merged, time);',
      tests: [
        'test/crash/backfill.test.ts',
        'test/crash/statements.proof.ts',
        'test/integration/merge.test.ts',
      ],
    },
    {
      breaks: 'an older version takes the place of a newer one of the same transaction',
      file: 'src/engine/loading/merge-sql.ts',
      search: "and (${changed('b')}, b.ord) > (${changed('a')}, a.ord)",
      replace: 'and b.ord > a.ord',
      tests: ['test/integration/loader.test.ts > leaves no state'],
    },
    {
      breaks: 'a backfill commits only at its end',
      file: 'src/engine/loading/transaction.ts',
      search: 'await session.commit({ isDurable: isLast });',
      replace: 'if (isLast) await session.commit({ isDurable: isLast });',
      tests: ['test/crash/killed-backfill.proof.ts', 'test/crash/backfill.test.ts'],
    },
    {
      breaks: 'what was merged is merged once more with the next commit',
      file: 'src/engine/loading/transaction.ts',
      search: 'await clearStaging(db, shape);',
      replace: 'await Promise.resolve();',
      tests: ['test/integration/loader.test.ts > in two commits'],
    },
    {
      breaks: 'retention removes the newest run of a stream when it is old',
      file: 'src/engine/history/retention.ts',
      search:
        "and status <> 'running'\n      and run_id not in (select max(run_id) from safety_sync.runs where ${ofStream}\n        group by kind, status, requests > 0, backend_pid is null)",
      tests: ['test/integration/retention.test.ts > keeps the newest run'],
    },
    {
      breaks: 'a view that a migration replaced shows a confined reader every account',
      file: 'src/warehouse/access.ts',
      search: 'const statements = views.filter((view) => view.isOwn).map(({ statement }) => statement);',
      replace: 'const statements: string[] = [];',
      tests: ['test/integration/access.test.ts > a view that a migration replaced'],
    },
    {
      breaks: 'a confined reader may read what somebody made in the schema by hand',
      file: 'src/warehouse/access-relations.ts',
      search: "c.relkind in ('r', 'p') and ${HAS_ACCOUNT}",
      replace: "c.relkind in ('r', 'p')",
      tests: ['test/integration/access.test.ts > made in the schema by hand'],
    },
    {
      breaks: 'how fresh the data of every account is shows to a confined reader',
      file: 'migrations/views/freshness.sql',
      search: "not row_security_active('safety.reporting_settings')",
      replace: 'true',
      tests: ['test/integration/access.test.ts > through every relation'],
    },
    {
      breaks: 'a loader that is not the owner cannot store once a role is confined',
      file: 'src/engine/loading/copy-records.ts',
      search: 'mayCopyIntoTables: async () => !(await (hasPolicies ??= readPolicies())),',
      replace:
        'mayCopyIntoTables: () => Promise.resolve(hasPolicies === undefined || readPolicies !== undefined),',
      tests: ['test/integration/access.test.ts > not the owner stores'],
    },
    {
      breaks: 'an aggregate of the dbt package counts what is closed once more for every month',
      file: 'docs/dbt/models/aggregates/agg_followups_monthly.sql',
      search: ' and closed.month = raised.month',
      tests: ['test/integration/dbt.test.ts'],
    },
    {
      breaks: 'superseded states keep what must not be stored any more',
      file: 'src/engine/privacy/clean-stored.ts',
      search: 'if (ids.size === 0) continue;',
      replace: 'if (ids.size >= 0) continue;',
      tests: ['test/integration/privacy.test.ts > a cleaning for later settings'],
    },
    {
      breaks: 'a worker with another key brings back who was forgotten',
      file: 'src/engine/privacy/settings.ts',
      search: 'secretId !== pseudonyms?.secretId',
      replace: 'secretId === null',
      tests: ['test/integration/privacy.test.ts > missing or another one'],
    },
    {
      breaks: 'a confined reader with an aggregate of its own sees how fresh every account is',
      file: 'migrations/functions/readable_accounts.sql',
      search: 'set search_path = pg_catalog, pg_temp as $$\n  select coalesce(array_agg',
      replace: 'as $$\n  select coalesce(array_agg',
      tests: [
        'test/integration/access.test.ts > in front of',
        'test/integration/access.test.ts > two confined',
      ],
    },
    {
      breaks: 'runs write by the isolation that the database has by default',
      file: 'src/engine/database/session-settings.ts',
      search: `set_config('default_transaction_isolation', 'read committed', false),`,
      tests: ['test/integration/server-settings.test.ts > no effect on stored data'],
    },
    {
      breaks: 'a worker that runs does not ask whether a newer program has migrated',
      file: 'src/engine/sync/run-stream.ts',
      search: 'await assertTablesMigrated(session.connection);',
      tests: ['test/integration/program-and-schema.test.ts > stores nothing more'],
    },
    {
      breaks: 'a program that does not know the schema can open a run',
      file: 'migrations/0000_warehouse.sql',
      search: `"program_version" text NOT NULL,`,
      replace: `"program_version" text DEFAULT 'unknown' NOT NULL,`,
      tests: ['test/integration/program-and-schema.test.ts > without program_version'],
    },
    {
      breaks: 'a run under way goes on storing while a newer program migrates',
      file: 'src/warehouse/migrate.ts',
      search: 'if (missing.length > 0) await endRuns(connection);',
      tests: ['test/e2e/next-release.test.ts > ends the session of a running sync'],
    },
    {
      breaks: 'a day that is over is counted again',
      file: 'src/engine/history/days.ts',
      search: 'n.counted_to + 1 else n.counted_to end',
      replace: 'n.counted_to - 1 else n.counted_to end',
      tests: ['test/integration/days.test.ts'],
    },
    {
      breaks: 'a day before the first sync counts for the present assignee',
      file: 'src/engine/history/days.ts',
      search: "m.reassignee_id <> '' and m.sent_at < k.valid_from",
      replace: 'false',
      tests: ['test/integration/days.test.ts'],
    },
  ],
  2: [
    {
      breaks: 'times of the database are read in the DateStyle of the server',
      file: 'src/engine/database/connection.ts',
      search: '      ...TEXT_SETTINGS,\n',
      tests: ['test/integration/server-settings.test.ts > no effect on stored data'],
    },
  ],
  3: [
    {
      breaks: 'a cached list older than the stored one is taken',
      file: 'src/engine/reading/cached-list.ts',
      search: 'sentMs > stored ||',
      replace: 'sentMs !== stored ||',
      tests: ['test/unit/reading/training.test.ts > a reconcile does not store an older calculation'],
    },
  ],
  4: [
    {
      breaks: 'the delete guard is off',
      file: 'src/engine/loading/merge.ts',
      search: 'vanished / live > maxRatio',
      replace: 'vanished / live > maxRatio + 1',
      tests: ['test/integration/snapshots.test.ts', 'test/integration/deleted-at-source.test.ts'],
    },
  ],
  5: [
    {
      breaks: 'issues stay open when the record comes right',
      file: 'src/engine/loading/issue-sql.ts',
      search: '(select t._run_id = ${runId}::bigint and t._synced_at',
      replace: '(select t._run_id <> ${runId}::bigint and t._synced_at',
      tests: [
        'test/integration/data-issues.test.ts > sends no request',
        'test/integration/data-issues.test.ts > close together',
      ],
    },
    {
      breaks: 'one record that PostgreSQL refuses costs the whole batch',
      file: 'src/engine/loading/merge.ts',
      search: 'if (!isDataError(error)) throw error;\n    await tx.execute',
      replace: 'if (isDataError(error)) throw error;\n    await tx.execute',
      tests: ['test/integration/loader.test.ts > PostgreSQL itself cannot store'],
    },
    {
      breaks: 'a COPY that PostgreSQL refuses leaves the transaction broken',
      file: 'src/engine/loading/copy-records.ts',
      search: "await connection.query('rollback to savepoint batch');",
      tests: ['test/integration/loader.test.ts > PostgreSQL itself cannot store'],
    },
  ],
  6: [
    {
      breaks: 'of a full disk only the consequence is reported',
      file: 'src/engine/control-tables/stream-session.ts',
      search: 'connection.abortedBy !== undefined;',
      replace: 'connection.abortedBy === null;',
      tests: ['test/crash/connection.test.ts > with the error that aborted it'],
    },
  ],
  7: [
    {
      breaks: 'the millisecond of the oldest record of a response is not requested again',
      file: 'src/engine/reading/walk.ts',
      search: 'before = oldestMs + 1;',
      replace: 'before = oldestMs;',
      tests: ['test/unit/reading/walk-games.test.ts'],
    },
  ],
  8: [
    {
      breaks: 'the lock is not taken',
      file: 'src/engine/control-tables/stream-session.ts',
      search: "pg_try_advisory_lock(${streamLockKey('$1', '$2')}) as locked",
      replace: "${streamLockKey('$1', '$2')} is not null as locked",
      tests: ['test/contract/streams-battery.test.ts > never overlap'],
    },
    {
      breaks: 'a session that lost its lock connects again and goes on',
      file: 'src/engine/control-tables/stream-session.ts',
      search: '    isSession: true,\n',
      tests: ['test/integration/loader.test.ts > breaks while no statement runs'],
    },
    {
      breaks: 'a broken session connects again',
      file: 'src/engine/database/connection.ts',
      search: 'isLost ? failingSocket(broken()) : connectSocket',
      replace: 'connectSocket',
      tests: ['test/crash/connection.test.ts'],
    },
    {
      breaks:
        'streams that meet the same people note them without taking turns, so that one of them is deadlocked',
      file: 'src/engine/control-tables/user-lookups.ts',
      search: 'select pg_advisory_xact_lock(hashtextextended(',
      replace: 'select (hashtextextended(',
      tests: ['test/integration/user-notes.test.ts'],
    },
    {
      breaks: 'two workers send one alert or one report',
      file: 'src/operate/alerts/outbox.ts',
      search: 'if (lock?.taken === true) await work(connection.db);',
      replace: 'if (lock !== undefined) await work(connection.db);',
      tests: [
        'test/integration/alerts.test.ts > one of several workers',
        'test/integration/scheduled-report.test.ts > one of several workers',
      ],
    },
    {
      breaks: 'a silent connection whose statement is at work is given up',
      file: 'src/engine/database/open-statements.ts',
      search: 'return row?.is_at_work === true;',
      replace: 'return row === undefined;',
      tests: ['test/crash/connection.test.ts > is kept while'],
    },
    {
      breaks: 'records of another service are stored beside those of the first one',
      file: 'src/engine/sync/source.ts',
      search: 'if (stored !== undefined && isOther) throw sourceChanged(accountId, stored, current);',
      tests: ['test/integration/source.test.ts > after practice with one service'],
    },
    {
      breaks: 'after a move the delete guard keeps what the new address lacks',
      file: 'src/engine/sync/run-stream.ts',
      search: 'state.isMoved ? afterMove(asked) : asked',
      replace: 'asked',
      tests: ['test/integration/source.test.ts > after a move'],
    },
    {
      breaks: 'an account is renamed while a run of its new name is under way',
      file: 'src/warehouse/change-account.ts',
      search: 'if (busy !== undefined) {',
      replace: 'if (busy !== undefined && busy.account === accounts[0]) {',
      tests: ['test/integration/accounts.test.ts > if a run is under way'],
    },
  ],
};

export type Mutation = Required<Break> & { readonly invariant: string };

export const MUTATIONS: readonly Mutation[] = Object.entries(BREAKS).flatMap(([invariant, breaks]) =>
  breaks.map((one) => ({ invariant, replace: '', ...one })),
);
