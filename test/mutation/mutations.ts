/** Deliberate breaks: each must be noticed by the tests that it names. A search text stands in its file exactly once. */
export interface Mutation {
  /** What is broken, in words. */
  readonly breaks: string;
  /** Of "What always holds" in the contract. */
  readonly invariant: 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8;
  readonly file: string;
  readonly search: string;
  readonly replace: string;
  /** Test files, at least one of which must fail. */
  readonly tests: readonly string[];
  /** Only tests whose names match. */
  readonly names?: string;
}

const WATERMARK = 'test/integration/followups-watermark.test.ts';
const MOVING = 'test/integration/followups-moving.test.ts';
const READINGS = 'test/integration/followups-readings.test.ts';
const SNAPSHOTS = 'test/integration/snapshots.test.ts';
const TRAINING = 'test/integration/training.test.ts';
const BATTERY = 'test/contract/streams-battery.test.ts';
const BACK = 'test/crash/going-back.test.ts';
const HISTORY = 'test/crash/history.test.ts';
const CONNECTION = 'test/crash/connection.test.ts';
const STATEMENTS = 'test/crash/statements.test.ts';

export const MUTATIONS: readonly Mutation[] = [
  {
    breaks: 'a slice is noted as read before its records are stored',
    invariant: 1,
    file: 'src/sync/serial-store.ts',
    search:
      'for (const { preparation } of deliveries) await loader.take(preparation);\n    await checkpoint(',
    replace: 'await checkpoint(',
    tests: [HISTORY],
  },
  {
    breaks: 'what was prepared before another version was stored is taken as it is',
    invariant: 1,
    file: 'src/sync/load.ts',
    search: 'prepared !== undefined && !isStale(preparation)',
    replace: 'prepared !== undefined',
    tests: ['test/integration/loader.test.ts'],
  },
  {
    breaks: 'a failed run is closed inside of a transaction that is rolled back',
    invariant: 1,
    file: 'src/sync/history.ts',
    search: 'await history.store.idle();',
    replace: '',
    tests: [HISTORY],
  },
  {
    breaks: 'a run whose connections break twice is left open',
    invariant: 1,
    file: 'src/sync/close-failed-run.ts',
    search: 'retries: 4',
    replace: 'retries: 0',
    tests: ['test/crash/statements.test.ts'],
  },
  {
    breaks: 'a crowded millisecond is cut into the slice that it already is',
    invariant: 7,
    file: 'src/sync/slice-worker.ts',
    search: 'const isNewestPartEmpty = remainingTo === state.toMs;',
    replace: 'const isNewestPartEmpty = false as boolean;',
    tests: [HISTORY],
  },
  {
    breaks: 'a history that was cut off begins anew',
    invariant: 1,
    file: 'src/sync/history.ts',
    search: '!restart &&\n    before !== null',
    replace: 'false && before !== null',
    tests: [HISTORY],
  },
  {
    breaks: 'a history that was read but not closed is read again',
    invariant: 1,
    file: 'src/sync/history.ts',
    search: '(isUnclosed(before, context.state.watermarkMs) || (',
    replace: '((',
    tests: [HISTORY],
    names: 'after its last slice',
  },
  {
    breaks: 'a backfill of another range goes on with the old plan',
    invariant: 1,
    file: 'src/sync/history.ts',
    search: 'plan.fromMs === range.fromMs && plan.toMs === range.toMs',
    replace: 'plan !== null && range !== null',
    tests: [HISTORY],
    names: 'a backfill',
  },
  {
    breaks: 'children of a changed record are not replaced',
    invariant: 1,
    file: 'src/warehouse/merge.ts',
    search: 'if (counts.updated > 0 && child.history === null)',
    replace: 'if (counts.updated < 0 && child.history === null)',
    tests: ['test/integration/merge.test.ts', BATTERY, 'test/model/model.test.ts'],
  },
  {
    breaks: 'hashes are not compared: what changed counts as unchanged',
    invariant: 1,
    file: 'src/warehouse/staging.ts',
    search: 'then 0 else 1 end',
    replace: 'then 0 else 0 end',
    tests: [BATTERY],
    names: 'one new and one changed',
  },
  {
    breaks: 'dead runs are not closed',
    invariant: 1,
    file: 'src/sync/run-stream.ts',
    search: 'const dead = await closeDeadRuns(db, accountId, request.stream);',
    replace: 'const dead = await Promise.resolve(closeDeadRuns.length - 3);',
    tests: [BATTERY],
    names: 'dead worker',
  },
  {
    breaks: 'updated_after without the last millisecond',
    invariant: 2,
    file: 'src/sync/extract-incremental.ts',
    search: 'watermarkMs - overlapMs - 1',
    replace: 'watermarkMs - overlapMs',
    tests: [WATERMARK],
  },
  {
    breaks: 'updated_after without the overlap',
    invariant: 2,
    file: 'src/sync/extract-incremental.ts',
    search: 'watermarkMs - overlapMs - 1',
    replace: 'watermarkMs - Math.min(overlapMs, 0) - 1',
    tests: [WATERMARK],
  },
  {
    breaks: 'the watermark comes from our clock',
    invariant: 2,
    file: 'src/sync/extract-incremental.ts',
    search: '  return { failure, watermarkMs: later(watermarkMs, seenMs) };',
    replace:
      '  return { failure, watermarkMs: later(watermarkMs, seenMs === undefined ? seenMs : context.clock.now()) };',
    tests: [WATERMARK],
  },
  {
    breaks: 'the watermark moves although the read was incomplete',
    invariant: 2,
    file: 'src/sync/extract-incremental.ts',
    search: 'state: failure === null ? { watermarkMs } : {},\n    note: null,\n    failure,\n  };\n}',
    replace: 'state: { watermarkMs },\n    note: null,\n    failure,\n  };\n}',
    tests: [HISTORY, READINGS],
  },
  {
    breaks: 'the watermark goes back',
    invariant: 2,
    file: 'src/sync/extract-incremental.ts',
    search: 'Math.max(storedMs ?? seenMs, seenMs)',
    replace: 'seenMs',
    tests: [BACK],
  },
  {
    breaks: 'a record from the future sets the watermark',
    invariant: 2,
    file: 'src/sync/creation-slice.ts',
    search: 'if (updated > clockMs) isAnyBeyond = true;',
    replace: 'if (updated > Infinity) isAnyBeyond = true;',
    tests: [WATERMARK],
  },
  {
    breaks: 'a backfill of a part sets the watermark',
    invariant: 2,
    file: 'src/sync/extract-incremental.ts',
    search: 'const isEverything = range.fromMs === null && range.toMs === null;',
    replace: 'const isEverything = range !== null;',
    tests: [HISTORY],
    names: 'a backfill',
  },
  {
    breaks: 'the next question leaves out the border between two answers',
    invariant: 2,
    file: 'src/sync/creation-walk.ts',
    search: '  const to = oldestMs + 1;\n',
    replace: '  const to = oldestMs;\n',
    tests: [MOVING, READINGS],
  },
  {
    breaks: 'an older version overwrites a newer one of the same run',
    invariant: 2,
    file: 'src/sync/prepare-batch.ts',
    search: 'versionOf(stream, record) >= versionOf(stream, before);',
    replace: 'true;',
    tests: [BACK],
  },
  {
    breaks: 'the training cache is held against our clock alone',
    invariant: 3,
    file: 'src/sync/extract-calculation.ts',
    search: 'const passed = [nowMs - check.atMs, check.agoByDatabaseMs];',
    replace: 'const passed = [nowMs - check.atMs];',
    tests: [TRAINING, 'test/unit/sync/training-freshness.test.ts'],
  },
  {
    breaks: 'a calculation older than the stored one is taken',
    invariant: 3,
    file: 'src/sync/extract-calculation.ts',
    search: 'calculatedAtMs <= state.calculatedAtMs',
    replace: 'calculatedAtMs === state.calculatedAtMs',
    tests: [BACK],
  },
  {
    breaks: 'pages of two calculations are mixed',
    invariant: 3,
    file: 'src/sync/extract-calculation.ts',
    search: 'if (calculatedAtMs !== options.calculatedAtMs) {',
    replace: 'if (calculatedAtMs === undefined && options.calculatedAtMs !== undefined) {',
    tests: [TRAINING],
  },
  {
    breaks: 'deletions are drawn from an incomplete snapshot',
    invariant: 4,
    file: 'src/sync/extract-snapshot.ts',
    search: 'covered: missing === null ? { column: null, values: [] } : null,',
    replace: 'covered: { column: null, values: [] },',
    tests: [SNAPSHOTS],
  },
  {
    breaks: 'deletions are drawn from a sweep that did not settle',
    invariant: 4,
    file: 'src/sync/extract-incremental.ts',
    search: 'covered: failure === null ? { column: null, values: [] } : null,',
    replace: 'covered: { column: null, values: [] },',
    tests: [READINGS],
  },
  {
    breaks: 'the delete guard is off',
    invariant: 4,
    file: 'src/warehouse/merge.ts',
    search: 'vanished / live > guard.maxRatio',
    replace: 'vanished / live > guard.maxRatio + 1',
    tests: [SNAPSHOTS],
  },
  {
    breaks: 'what comes back is not undeleted',
    invariant: 4,
    file: 'src/warehouse/staging.ts',
    search: 'case when t._deleted_at is null and t._hash = k.hash',
    replace: 'case when t._hash = k.hash',
    tests: [BATTERY],
    names: 'undeleted',
  },
  {
    breaks: 'NUL is not made storable',
    invariant: 5,
    file: 'src/sync/identify.ts',
    search: "value.toWellFormed().replaceAll('\\0', '\\ufffd')",
    replace: 'value.toWellFormed()',
    tests: [BATTERY, 'test/unit/sync/identify.test.ts'],
    names: 'PostgreSQL cannot hold|storable|NUL',
  },
  {
    breaks: 'issues stay open when the record comes right',
    invariant: 5,
    file: 'src/warehouse/merge.ts',
    search: 'if (request.changed) await tx.execute(issues.resolveStored',
    replace: 'if (!request.changed) await tx.execute(issues.resolveStored',
    tests: [BATTERY, 'test/integration/data-issues.test.ts'],
    names: 'comes right|close together',
  },
  {
    breaks: 'token errors are retried',
    invariant: 6,
    file: 'src/shared/errors.ts',
    search: "  token_inactive: {\n    recovery: 'fail_run',",
    replace: "  token_inactive: {\n    recovery: 'retry',",
    tests: ['test/integration/credentials.test.ts'],
  },
  {
    breaks: 'an answer shorter than its own total counts as complete',
    invariant: 7,
    file: 'src/sync/slice-reader.ts',
    search: 'if (!isShort(page, pageSize)) return page;',
    replace: 'if (page.records.length >= 0) return page;',
    tests: [HISTORY, READINGS],
  },
  {
    breaks: 'a remainder that shrank is not asked again',
    invariant: 7,
    file: 'src/sync/creation-walk.ts',
    search: 'total !== undefined && total < task.after.remaining',
    replace: 'total !== undefined && total < 0',
    tests: [BACK],
  },
  {
    breaks: 'what builds on an answer that could not be stored is stored',
    invariant: 1,
    file: 'src/sync/serial-store.ts',
    search: 'if (broken !== undefined) throw broken.error;',
    replace: '',
    tests: ['test/unit/sync/serial-store.test.ts'],
  },
  {
    breaks: 'rows are copied without anybody looking whether what they refer to is there',
    invariant: 1,
    file: 'src/warehouse/direct-load.ts',
    search: ' && isSelfContained(record)',
    replace: '',
    tests: ['test/integration/loader.test.ts'],
  },
  {
    breaks: 'foreign keys are not looked up in a merge either',
    invariant: 1,
    file: 'src/warehouse/load-settings.ts',
    search: 'setLocally(connection, usual).catch(() => undefined);',
    replace: '',
    tests: ['test/integration/load-settings.test.ts'],
  },
  {
    breaks: 'the lock is not taken',
    invariant: 8,
    file: 'src/warehouse/stream-session.ts',
    search: "pg_try_advisory_lock(hashtextextended('safety-sync:' || $1 || ':' || $2, 0)) as locked",
    replace: "hashtextextended('safety-sync:' || $1 || ':' || $2, 0) is not null as locked",
    tests: [BATTERY],
    names: 'never overlap',
  },
  {
    breaks: 'a session that lost its lock connects again and goes on',
    invariant: 8,
    file: 'src/warehouse/stream-session.ts',
    search: '    isSession: true,\n',
    replace: '',
    tests: [CONNECTION, STATEMENTS],
  },
  {
    breaks: 'a broken session connects again',
    invariant: 8,
    file: 'src/warehouse/connection.ts',
    search: '    if (!isUsed) {',
    replace: '    if (!isUsed || options.host.length > 0) {',
    tests: [CONNECTION],
  },
];
