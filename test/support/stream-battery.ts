/** Tests of the promises of every stream (contract, "What always holds"), including new ones. */
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import {
  defaultReadings,
  type Fault,
  optionalFields,
  RawNumber,
  type Readings,
} from '../../src/sandbox/index.ts';
import type { StreamDefinition } from '../../src/engine/streams/stream.ts';
import type { RunResult } from '../../src/engine/sync/run.ts';
import { createGate } from './gate.ts';
import {
  createTestWorker,
  createWorkerWithPast,
  expectSucceeded,
  issuesOf,
  rowVersions,
  runsOf,
  stateOf,
  type TestWorker,
  type TestWorkerOptions,
} from './world.ts';
import { inProof } from './proof.ts';
import type { Specimen } from './specimens.ts';
import { clockOf, NOON } from './test-clock.ts';

const SIZE = { followups: 30, employees: 22, equipment: 24, resources: 12, users: 10 };
const EVERYTHING_MS = 10 * 365 * 24 * 3_600_000;
const SEED = 411;
const NOTHING = { inserted: 0, updated: 0, unchanged: 0, deleted: 0, rejected: 0 };

/** The first request meets each of them in turn; retries suffice for all. */
const EVERY_FAULT: Fault[] = [
  { kind: 'rateLimit' },
  { kind: 'serverError' },
  { kind: 'reset' },
  { kind: 'hang' },
  { kind: 'cut', share: 0.7 },
  { kind: 'nonJson', httpStatus: 502 },
  { kind: 'nonJson', httpStatus: 200, body: '' },
];

interface Battery {
  readonly stream: StreamDefinition;
  readonly specimen: Specimen;
  /** Fails when a live row, or a child of one, differs from the service's record. */
  readonly isEqual: (worker: TestWorker) => Promise<void>;
  /** False: tests of code that all streams share run for this stream in the proof only. */
  readonly isSample?: boolean;
  /** Default: one of the registry's streams. */
  readonly createWorker?: (options: TestWorkerOptions) => Promise<TestWorker>;
}

export function describeStream({
  stream,
  specimen,
  isEqual,
  isSample = true,
  createWorker: create = createTestWorker,
}: Battery): void {
  const ofEveryStream = isSample ? (define: () => void): void => define() : inProof;
  /** Of people only listed fields are stored, each person once: test/integration/users.test.ts. */
  const ofStoredAsReceived = stream.personal === undefined ? ofEveryStream : (): void => undefined;
  describe(stream.name, () => {
    const { name } = stream;
    const { text, bad, table, keyColumn, keyField } = specimen;
    const open: TestWorker[] = [];
    afterEach(async () => {
      for (const worker of open.splice(0)) await worker.close();
    });

    async function createWorker(options: TestWorkerOptions = {}): Promise<TestWorker> {
      const worker = await create({
        clock: clockOf({ now: NOON }),
        ...options,
        sandbox: { seed: SEED, clock: () => NOON, size: SIZE, ...options.sandbox },
        // Every incremental read returns all records, so unchanged ones can be counted.
        settings: { followupsOverlapMs: EVERYTHING_MS, ...options.settings },
      });
      open.push(worker);
      return worker;
    }

    /** A run that requests everything again, after the time when requests could be skipped. */
    async function runAgain(worker: TestWorker, kind: 'sync' | 'reconcile' = 'sync'): Promise<RunResult> {
      await specimen.beforeRun(worker);
      return await worker.run(name, { kind, force: true });
    }
    const countsOf = async (worker: TestWorker, kind?: 'reconcile') =>
      expectSucceeded(await runAgain(worker, kind)).counts;

    /** After a first sync. */
    const synced = (): Promise<TestWorker> =>
      createWorkerWithPast({
        name: `battery ${name}`,
        create: (database) => createWorker({ database }),
        happen: async (worker, isStored) => {
          if (!isStored) await countsOf(worker);
          // A calculation belongs to the source.
          else await specimen.beforeRun(worker);
        },
      });
    const keyAt = (worker: TestWorker, at = 3): string => [...specimen.records(worker).keys()][at] ?? '';
    /** Stored as a whole, so that the sandbox keeps a value that it would otherwise calculate. */
    const patch = (worker: TestWorker, key: string, fields: object): void => {
      specimen.records(worker).put({ ...specimen.records(worker).get(key), ...fields }, key);
    };
    const rowCount = async (worker: TestWorker): Promise<unknown> =>
      (
        await worker.query(`select count(*)::int as rows from safety.${table} where _deleted_at is null`)
      )[0]?.['rows'];
    const cellOf = async (worker: TestWorker, key: string, column: string): Promise<unknown> =>
      (
        await worker.query(
          `select ${column}::text as cell from safety.${table} where ${keyColumn} = '${key}'`,
        )
      )[0]?.['cell'];

    test('the first sync makes the warehouse equal to the source', async () => {
      const worker = await createWorker();
      await countsOf(worker);
      await isEqual(worker);
      const records = specimen.records(worker).size;
      expect(records).toBeGreaterThan(9);
      expect(await rowCount(worker)).toBe(records);
      expect(await runsOf(worker, name)).toMatchObject([
        { ...NOTHING, status: 'succeeded', is_finished: true, records_read: records, inserted: records },
      ]);
    });

    ofEveryStream(() => {
      test('a sync of an unchanged source writes no row; one new and one changed record are counted as inserted and updated', async () => {
        const worker = await synced();
        const records = specimen.records(worker);
        const read = records.size;
        const before = await rowVersions(worker);
        expect(await countsOf(worker)).toEqual({ ...NOTHING, read, unchanged: read });
        expect(await rowVersions(worker)).toEqual(before);
        records.put(specimen.build('brand-new'));
        records.update(keyAt(worker), { [text.field]: 'changed' });
        const counted = { inserted: 1, updated: 1, unchanged: read - 1 };
        expect(await countsOf(worker)).toEqual({ ...NOTHING, ...counted, read: read + 1 });
        expect((await runsOf(worker, name))[0]).toMatchObject(counted);
        await isEqual(worker);
      });

      test('a record that was marked deleted is undeleted when the source has it', async () => {
        const worker = await synced();
        await worker.query(
          `update safety.${table} set _deleted_at = now() where ${keyColumn} = '${keyAt(worker)}'`,
        );
        expect(await countsOf(worker)).toMatchObject({ inserted: 0, updated: 1 });
        expect(await cellOf(worker, keyAt(worker), '_deleted_at')).toBeNull();
        await isEqual(worker);
      });

      test('a record without a key is rejected and stored as an issue, which a complete read closes when the record has its key', async () => {
        const worker = await createWorker();
        const records = specimen.records(worker);
        const whole = specimen.build('late-key');
        records.put({ ...whole, [keyField]: undefined }, 'late-key');
        const read = records.size;
        expect(await countsOf(worker)).toMatchObject({ read, inserted: read - 1, rejected: 1 });
        const rejected = { kind: 'record_rejected', record_id: null };
        const [held] = await issuesOf(worker, name);
        expect(held).toMatchObject({ ...rejected, occurrences: 1, is_open: true });
        expect(JSON.stringify(held?.value)).toContain(String(whole[text.field]));
        records.put(whole, 'late-key');
        await countsOf(worker, 'reconcile');
        expect(await issuesOf(worker, name)).toMatchObject([{ ...rejected, is_open: false }]);
        await isEqual(worker);
      });
    });

    test('a complete read with a member that is not known deletes nothing, and the run says so', async () => {
      const worker = await synced();
      specimen.records(worker).delete(keyAt(worker));
      worker.sandbox.hooks.rewriteResponse = (_entry, response) => ({ ...response, truncated: true });
      const { counts, note } = expectSucceeded(await runAgain(worker, 'reconcile'));
      expect([counts.deleted, note]).toEqual([0, expect.stringContaining('not known: truncated')]);
    });

    test('a field that cannot be stored becomes null with an issue, which closes when the field is corrected', async () => {
      const worker = await synced();
      const key = keyAt(worker);
      const { field, column, value, right } = bad;
      patch(worker, key, { [field]: value });
      await countsOf(worker);
      expect(await cellOf(worker, key, column)).toBeNull();
      const issue = { record_id: key, field, kind: 'field_nulled', value, occurrences: 1 };
      expect(await issuesOf(worker, name)).toEqual([{ ...issue, is_open: true }]);
      await isEqual(worker);

      patch(worker, key, { [field]: right });
      await countsOf(worker);
      expect(await cellOf(worker, key, column)).not.toBeNull();
      expect(await issuesOf(worker, name)).toEqual([{ ...issue, is_open: false }]);
      await isEqual(worker);
    });

    test('what was observed is stored without an issue, an undocumented value with one', async () => {
      const worker = await synced();
      const observed = specimen.observed?.('observed') ?? [];
      for (const record of observed) specimen.records(worker).put(record);
      expect(await countsOf(worker)).toMatchObject({ inserted: observed.length, rejected: 0 });
      expect(await issuesOf(worker, name)).toEqual([]);
      await isEqual(worker);
      if (specimen.unknownValue === null) return;
      const { patch: fields, field, value } = specimen.unknownValue;
      patch(worker, keyAt(worker), fields);
      await countsOf(worker);
      expect(await issuesOf(worker, name)).toMatchObject([
        { kind: 'unknown_value', record_id: keyAt(worker), field, value, is_open: true },
      ]);
      await isEqual(worker);
    });

    ofStoredAsReceived(() => {
      test('an unknown field has one issue, which a reconcile closes when no record has the field, and is stored in _raw', async () => {
        const worker = await synced();
        const records = specimen.records(worker);
        const [first, second] = [keyAt(worker), keyAt(worker, 5)];
        const issue = { kind: 'unknown_field', field: 'colour' };
        records.update(first, { colour: 'red' });
        records.update(second, { colour: 'blue' });
        await countsOf(worker);
        expect(await issuesOf(worker, name)).toMatchObject([{ ...issue, occurrences: 2, is_open: true }]);
        expect(await cellOf(worker, first, `(_raw->>'colour')`)).toBe('red');
        await isEqual(worker);
        for (const [key, isOpen] of [
          [first, true],
          [second, false],
        ] as const) {
          records.update(key, { colour: undefined });
          for (const kind of ['sync', 'reconcile'] as const) expectSucceeded(await runAgain(worker, kind));
          expect(await issuesOf(worker, name)).toMatchObject([{ ...issue, is_open: isOpen }]);
        }
      });

      test('a record that is in a response twice is stored once, and a second sync of it writes nothing', async () => {
        const worker = await createWorker();
        const records = specimen.records(worker);
        records.put({ ...records.get(keyAt(worker)) }, 'the same again');
        records.put({ ...records.get(keyAt(worker, 5)), [text.field]: 'named differently' }, 'not the same');
        const inserted = records.size - 2;
        if ('pageSize' in stream.readMode) {
          // A total that counts a record twice contradicts the list: what there is gets stored, and the run fails.
          const result = await runAgain(worker);
          expect(result).toMatchObject({ outcome: 'failed', error: { code: 'read_incomplete' } });
          expect([result.counts.deleted, await rowCount(worker)]).toEqual([0, inserted]);
          return;
        }
        expect(await countsOf(worker)).toMatchObject({ inserted, unchanged: 2, rejected: 0 });
        await isEqual(worker);
        const before = await rowVersions(worker);
        expect(await countsOf(worker)).toMatchObject({ inserted: 0, updated: 0, unchanged: records.size });
        expect(await rowVersions(worker)).toEqual(before);
      });

      test('a key beyond 2^53 is rejected, and digits that no column holds stay in _raw', async () => {
        const worker = await synced();
        const key = keyAt(worker);
        const records = specimen.records(worker);
        // A record with a field that is never stored is written anew.
        for (const { isDropped, name } of Object.values(stream.fields))
          if (isDropped && name !== undefined) records.update(key, { [name]: undefined });
        records.update(key, { measured: [new RawNumber('9007199254740993'), new RawNumber('0.10')] });
        const beyond = new RawNumber('9007199254740993');
        records.put({ ...specimen.build(beyond.text), [keyField]: beyond });
        expect(await countsOf(worker)).toMatchObject({ rejected: 1 });
        expect(await cellOf(worker, key, `(_raw->'measured')`)).toBe('[9007199254740993, 0.10]');
        expect(await issuesOf(worker, name)).toMatchObject([
          { record_id: null, kind: 'record_rejected', is_open: true },
          { field: 'measured', kind: 'unknown_field' },
        ]);
      });
    });

    test('every reading of the specification leads to equal rows', async () => {
      const worker = await synced();
      const rows = await rowCount(worker);
      const fields = [...specimen.records(worker).values()].flatMap((record) => Object.keys(record));
      const readings: Partial<Readings>[] = [
        { leftOut: optionalFields, extraFields: true },
        { followups: 'specified', leftOut: [...new Set(fields)].filter((one) => one !== keyField) },
        {},
      ];
      for (const reading of readings) {
        Object.assign(worker.sandbox.readings, defaultReadings, reading);
        const { inserted, deleted } = await countsOf(worker);
        expect([reading, inserted, deleted]).toEqual([reading, 0, 0]);
        await isEqual(worker);
      }
      expect(await rowCount(worker)).toBe(rows);
      expect((await issuesOf(worker, name)).filter((issue) => issue.is_open)).toEqual([]);
    });

    ofEveryStream(() => {
      test('text that PostgreSQL cannot store is replaced by storable text, and a second sync of it writes nothing', async () => {
        const worker = await synced();
        specimen
          .records(worker)
          .update(keyAt(worker), { [text.field]: 'a\u0000b\ud83dc\ude00d😀\\u0000\t\n\\N' });
        await countsOf(worker);
        const stored = 'a\ufffdb\ufffdc\ufffdd😀\\u0000\t\n\\N';
        expect(await cellOf(worker, keyAt(worker), text.column)).toBe(stored);
        await isEqual(worker);
        const before = await rowVersions(worker);
        await countsOf(worker);
        expect(await rowVersions(worker)).toEqual(before);
      });

      test('a failing request changes no row, and its failed run is stored with error code and request id', async () => {
        const worker = await synced();
        specimen.records(worker).update(keyAt(worker), { [text.field]: 'changed meanwhile' });
        const [before, state] = [await rowVersions(worker), await stateOf(worker, name)];
        worker.sandbox.requests.length = 0;
        worker.sandbox.faults.next(() => true, { kind: 'error', error: 'request_data_invalid' }, 100);
        const error_code = 'request_data_invalid';
        expect(await runAgain(worker)).toMatchObject({ outcome: 'failed', error: { code: error_code } });
        expect([await rowVersions(worker), await stateOf(worker, name)]).toEqual([before, state]);
        const { requests } = worker.sandbox;
        const [run] = await runsOf(worker, name);
        expect(run).toMatchObject({ status: 'failed', is_finished: true, error_code, records_read: 0 });
        expect(run?.requests).toBe(requests.length);
        expect(requests.map((entry) => entry.requestId)).toContain(run?.request_id);
      });

      test('faults of every kind delay a sync without a change of its result', async () => {
        const worker = await createWorker({ requestTimeoutMs: 250 });
        await specimen.beforeRun(worker);
        const { faults, requests } = worker.sandbox;
        for (const fault of EVERY_FAULT) faults.next(() => true, fault);
        const rate = 0.03;
        faults.set({ rateLimit: rate, serverError: rate, reset: rate, hang: 0.02, cut: rate, nonJson: rate });
        const result = expectSucceeded(await worker.run(name, { force: true }));
        expect(result.retries).toBeGreaterThanOrEqual(EVERY_FAULT.length);
        expect(result.requests).toBe(requests.length);
        const records = specimen.records(worker).size;
        expect(result.counts).toMatchObject({ read: records, inserted: records, unchanged: 0 });
        faults.clear();
        await isEqual(worker);
      });

      test('a token that is refused as invalid or inactive, or for an inactive account, is not tried a second time in a run', async () => {
        const worker = await createWorker();
        await specimen.beforeRun(worker);
        const before = await rowVersions(worker);
        const { access, requests } = worker.sandbox;
        for (const code of ['token_inactive', 'account_inactive', 'token_invalid'] as const) {
          if (code === 'token_invalid') access.revoke();
          else access.set(code === 'token_inactive' ? 'inactive' : 'account-inactive');
          requests.length = 0;
          const result = await worker.run(name, { force: true });
          expect(result).toMatchObject({ outcome: 'failed', error: { code, recovery: 'fail_run' } });
          expect(requests.length).toBeLessThanOrEqual(1);
          expect(await rowVersions(worker)).toEqual(before);
          expect((await runsOf(worker, name))[0]).toMatchObject({ status: 'failed', error_code: code });
        }
      });

      test('two syncs of a stream never overlap: a scheduled one skips, a manual one waits', async () => {
        const [waiting, asked, gate] = [createGate(), createGate(), createGate()];
        onTestFinished(() => gate.open());
        const worker = await createWorker({ events: { onWait: () => waiting.open() } });
        await specimen.beforeRun(worker);
        const { hooks, requests } = worker.sandbox;
        requests.length = 0;
        hooks.beforeResponse = async () => {
          asked.open();
          await gate.opened;
        };
        const first = worker.run(name, { force: true });
        await asked.opened;
        // A skipped run writes no row, because replicas would fill the table with them.
        expect(await worker.run(name, { force: true, trigger: 'schedule' })).toMatchObject({
          ...{ outcome: 'skipped', requests: 0, isTaken: true, runId: null },
        });
        const second = worker.run(name, { force: true });
        await waiting.opened;
        expect(requests.length).toBe(1);
        gate.open();
        expectSucceeded(await first);
        expectSucceeded(await second);
        const overlapping = await worker.query(
          `select a.run_id from safety_sync.runs a join safety_sync.runs b on a.run_id < b.run_id and a.finished_at > b.started_at
           where a.stream = '${name}' and b.stream = '${name}'`,
        );
        expect(overlapping).toEqual([]);
        expect((await runsOf(worker, name)).map((run) => run.status)).toEqual(['succeeded', 'succeeded']);
        await isEqual(worker);
      });

      test('a run that a dead worker left open is closed as worker_died by the next run', async () => {
        const worker = await createWorker();
        await worker.query(
          `insert into safety_sync.runs (account_id, stream, kind, trigger, status, owner, program_version)
       values ('default', '${name}', 'sync', 'schedule', 'running', 'gone', '1.0.0'),
         ('another account', '${name}', 'sync', 'schedule', 'running', 'alive', '1.0.0')`,
        );
        await countsOf(worker);
        expect(await runsOf(worker, name)).toMatchObject([
          { status: 'succeeded' },
          { status: 'running', is_finished: false },
          { status: 'failed', is_finished: true, error_code: 'worker_died' },
        ]);
      });
    });
  });
}
