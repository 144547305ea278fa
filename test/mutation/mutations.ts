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
      breaks: 'checksums are not compared: what changed counts as unchanged',
      file: 'src/engine/loading/compare.ts',
      search: "when t._hash = k.hash then '0'",
      replace: "when t._hash is not null then '0'",
      tests: ['test/contract/streams-battery.test.ts > one new and one changed'],
    },
    {
      breaks: 'dead runs are not closed',
      file: 'src/engine/control-tables/runs.ts',
      search:
        "  await db.execute(sql`update ${runs} set ${AS_DIED} where ${isOf(key)} and status = 'running'`);\n",
      tests: ['test/contract/streams-battery.test.ts > dead worker'],
    },
    {
      breaks: 'rows are committed before the ledger, the state and the counts that belong to them',
      file: 'src/engine/loading/load.ts',
      search: 'await beforeCommit(counts, merged, time);',
      replace:
        'await session.commit();\n    await session.begin();\n    await beforeCommit(counts, merged, time);',
      tests: [
        'test/crash/backfill.test.ts',
        'test/crash/statements.proof.ts',
        'test/integration/merge.test.ts',
      ],
    },
    {
      breaks: 'a backfill commits only at its end',
      file: 'src/engine/sync/run-steps.ts',
      search: 'const isDue = load.uncommitted >= RECORDS_OF_A_COMMIT ||',
      replace: 'const isDue = load.uncommitted < 0 && received < 0 &&',
      tests: ['test/crash/killed-backfill.proof.ts', 'test/crash/backfill.test.ts'],
    },
    {
      breaks: 'superseded states keep what must not be stored any more',
      file: 'src/engine/privacy/clean-stored.ts',
      search: 'if (differing === 0) continue;',
      replace: 'if (differing >= 0) continue;',
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
      breaks: 'a run under way goes on storing while a newer program migrates',
      file: 'src/warehouse/migrate.ts',
      search: 'if (missing.length > 0 && !isNew) await endRuns(connection);',
      tests: ['test/e2e/next-release.test.ts > ends the session of a running sync'],
    },
  ],
  2: [
    {
      breaks: 'an older version takes the place of a newer one of the same transaction',
      file: 'src/engine/loading/merge-sql.ts',
      search: "and (${changed('b')}, b.ord) > (${changed('a')}, a.ord)",
      replace: 'and b.ord > a.ord',
      tests: ['test/integration/loader.test.ts > leaves no state'],
    },
  ],
  3: [
    {
      breaks: 'a cached list older than the stored one is taken',
      file: 'src/engine/reading/cached-list.ts',
      search: 'const isOlder = calculatedAt < stored &&',
      replace: 'const isOlder = calculatedAt < stored - 1e12 &&',
      tests: ['test/unit/reading/training.test.ts > a reconcile does not store an older calculation'],
    },
  ],
  4: [
    {
      breaks: 'the delete guard is off',
      file: 'src/engine/loading/merge.ts',
      search: 'vanished / live > maxDeleteRatio',
      replace: 'vanished / live > maxDeleteRatio + 1',
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
        'test/integration/data-issues.test.ts > has 100 issues',
      ],
    },
  ],
  6: [
    {
      breaks: 'a request with a refused token is repeated',
      file: 'src/engine/api/client.ts',
      search: "if (!(error instanceof SafetySyncError) || error.recovery !== 'retry') return false;",
      replace: 'if (!(error instanceof SafetySyncError)) return false;',
      tests: ['test/integration/api/retries.test.ts > a request that always fails with'],
    },
  ],
  7: [
    {
      breaks: 'the second of the oldest record of a response is not requested again',
      file: 'src/engine/reading/walk.ts',
      search: 'upperMs = second.toMs;',
      replace: 'upperMs = second.fromMs;',
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
      breaks: 'a broken session connects again',
      file: 'src/engine/database/connection.ts',
      search: 'if (!isSession) return;',
      replace: 'return;',
      tests: ['test/crash/connection.test.ts'],
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
      file: 'src/engine/database/connection.ts',
      search: 'atWork.length > 0 || socket',
      replace: 'socket',
      tests: ['test/crash/connection.test.ts > is kept while'],
    },
    {
      breaks: 'records of another service are stored beside those of the first one',
      file: 'src/engine/sync/source.ts',
      search: 'if (stored !== undefined && isOther) throw sourceChanged(accountId, stored, current);',
      tests: ['test/integration/source.test.ts > after practice with one service'],
    },
  ],
};

export type Mutation = Required<Break> & { readonly invariant: string };

export const MUTATIONS: readonly Mutation[] = Object.entries(BREAKS).flatMap(([invariant, breaks]) =>
  breaks.map((one) => ({ invariant, replace: '', ...one })),
);
