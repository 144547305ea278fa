/** Tests of the promises of every stream (contract, "What always holds"), including new ones. */
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { Fault, Readings } from '../../src/sandbox/index.ts';
import { defaultReadings, optionalFields, RawNumber } from '../../src/sandbox/index.ts';
import type { StreamDefinition } from '../../src/engine/streams/stream.ts';
import type { RunResult } from '../../src/engine/sync/run.ts';
import { createGate } from './gate.ts';
import { createWorkerWithPast } from './past.ts';
import { inProof } from './proof.ts';
import type { Specimen } from './specimens.ts';
import { clockOf, NOON } from './test-clock.ts';
import { issuesOf, rowVersions, runsOf, stateOf } from './warehouse-marks.ts';
import { createTestWorker, type TestWorker, type TestWorkerOptions } from './worker.ts';

const SIZE = { followups: 30, employees: 22, equipment: 24, resources: 12, users: 10 };
const EVERYTHING_MS = 10 * 365 * 24 * 3_600_000;
const SEED = 411;

function expectSuccess(result: RunResult): void {
  if (result.outcome === 'failed') throw result.error;
  expect(result.outcome).toBe('succeeded');
}

/** The first request meets each of them in turn; retries suffice for all. */
const EVERY_FAULT: Fault[] = [
  { kind: 'rateLimit' },
  { kind: 'serverError' },
  { kind: 'reset' },
  { kind: 'hang' },
  { kind: 'cut', framing: 'content-length', share: 0.7 },
  { kind: 'cut', framing: 'chunked', share: 0.3 },
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
    async function runAgain(worker: TestWorker): Promise<RunResult> {
      await specimen.beforeRun(worker);
      return await worker.run(name, { force: true });
    }

    /** After a first sync. */
    const synced = (): Promise<TestWorker> =>
      createWorkerWithPast({
        name: `battery ${name}`,
        create: (database) => createWorker({ database }),
        happen: async (worker, isStored) => {
          if (!isStored) expectSuccess(await runAgain(worker));
          // A calculation belongs to the source.
          else await specimen.beforeRun(worker);
        },
      });
    const someKey = (worker: TestWorker): string => [...specimen.records(worker).keys()][3] ?? '';
    /** Stored as a whole, so that the sandbox keeps a value that it would otherwise calculate. */
    const patch = (worker: TestWorker, key: string, fields: object): void => {
      specimen.records(worker).put({ ...specimen.records(worker).get(key), ...fields }, key);
    };
    const rowCount = async (worker: TestWorker): Promise<number> => {
      const [row] = await worker.query<{ rows: number }>(
        `select count(*)::int as rows from safety.${specimen.table} where _deleted_at is null`,
      );
      return row?.rows ?? 0;
    };
    const cellOf = async (worker: TestWorker, key: string, column: string): Promise<unknown> => {
      const [row] = await worker.query<{ cell: unknown }>(
        `select ${column}::text as cell from safety.${specimen.table} where ${specimen.keyColumn} = '${key}'`,
      );
      return row?.cell;
    };

    test('the first sync makes the warehouse equal to the source', async () => {
      const worker = await createWorker();
      expectSuccess(await runAgain(worker));
      await isEqual(worker);
      const records = specimen.records(worker).size;
      expect(records).toBeGreaterThan(9);
      expect(await rowCount(worker)).toBe(records);
      expect((await runsOf(worker, name))[0]).toMatchObject({
        status: 'succeeded',
        is_finished: true,
        records_read: records,
        inserted: records,
        updated: 0,
        unchanged: 0,
        deleted: 0,
        rejected: 0,
        error_code: null,
      });
    });

    ofEveryStream(() => {
      test('a second sync of an unchanged source writes no row and counts every record as unchanged', async () => {
        const worker = await synced();
        await specimen.beforeRun(worker);
        const before = await rowVersions(worker);
        const result = await worker.run(name, { force: true });
        expectSuccess(result);
        expect(await rowVersions(worker)).toEqual(before);
        const records = specimen.records(worker).size;
        expect(result.counts).toEqual({
          read: records,
          inserted: 0,
          updated: 0,
          unchanged: records,
          deleted: 0,
          rejected: 0,
        });
      });

      test('one new and one changed record are counted as inserted and updated, and the others as unchanged', async () => {
        const worker = await synced();
        const records = specimen.records(worker);
        const before = records.size;
        records.put(specimen.build('brand-new'));
        records.update(someKey(worker), { [specimen.text.field]: 'changed' });
        const result = await runAgain(worker);
        expectSuccess(result);
        expect(result.counts).toEqual({
          read: before + 1,
          inserted: 1,
          updated: 1,
          unchanged: before - 1,
          deleted: 0,
          rejected: 0,
        });
        expect((await runsOf(worker, name))[0]).toMatchObject({
          records_read: before + 1,
          inserted: 1,
          updated: 1,
          unchanged: before - 1,
        });
        await isEqual(worker);
      });

      test('a record that was marked deleted is undeleted when the source has it', async () => {
        const worker = await synced();
        const key = someKey(worker);
        await worker.query(
          `update safety.${specimen.table} set _deleted_at = now() where ${specimen.keyColumn} = '${key}'`,
        );
        const result = await runAgain(worker);
        expectSuccess(result);
        expect(result.counts).toMatchObject({ inserted: 0, updated: 1 });
        expect(await cellOf(worker, key, '_deleted_at')).toBeNull();
        await isEqual(worker);
      });

      test('a record without a key is rejected and stored as an issue, which a complete read closes when the record has its key', async () => {
        const worker = await createWorker();
        const records = specimen.records(worker);
        const whole = specimen.build('late-key');
        const keyless = { ...whole, [specimen.keyField]: undefined };
        records.put(keyless, 'late-key');
        const result = await runAgain(worker);
        expectSuccess(result);
        expect(result.counts).toMatchObject({ read: records.size, inserted: records.size - 1, rejected: 1 });
        const held = (await issuesOf(worker, name))[0];
        expect(held).toMatchObject({
          kind: 'record_rejected',
          record_id: null,
          occurrences: 1,
          is_open: true,
        });
        expect(JSON.stringify(held?.value)).toContain(String(whole[specimen.text.field]));
        expect(await rowCount(worker)).toBe(records.size - 1);

        expectSuccess(await runAgain(worker));
        expect(await issuesOf(worker, name)).toMatchObject([{ is_open: true, occurrences: 2 }]);

        records.put(whole, 'late-key');
        await specimen.beforeRun(worker);
        expectSuccess(await worker.run(name, { kind: 'reconcile', force: true }));
        expect(await issuesOf(worker, name)).toMatchObject([{ is_open: false, occurrences: 2 }]);
        await isEqual(worker);
      });
    });

    test('a field that cannot be stored becomes null with an issue, which closes when the field is corrected', async () => {
      const worker = await synced();
      const key = someKey(worker);
      const { field, column, value, right } = specimen.bad;
      patch(worker, key, { [field]: value });
      expectSuccess(await runAgain(worker));
      expect(await cellOf(worker, key, column)).toBeNull();
      const issues = await issuesOf(worker, name);
      expect(issues).toEqual([
        { record_id: key, field, kind: 'field_nulled', value, occurrences: 1, is_open: true },
      ]);
      await isEqual(worker);

      patch(worker, key, { [field]: right });
      expectSuccess(await runAgain(worker));
      expect(await cellOf(worker, key, column)).not.toBeNull();
      expect(await issuesOf(worker, name)).toMatchObject([{ is_open: false, occurrences: 1 }]);
      await isEqual(worker);
    });

    ofStoredAsReceived(() => {
      test('an unknown field has one issue, which closes when no record has the field, and is stored in _raw', async () => {
        const worker = await synced();
        const records = specimen.records(worker);
        const [first, second] = [someKey(worker), [...records.keys()][5] ?? ''];
        records.update(first, { colour: 'red' });
        records.update(second, { colour: 'blue' });
        expectSuccess(await runAgain(worker));
        expect(await issuesOf(worker, name)).toMatchObject([
          { kind: 'unknown_field', field: 'colour', occurrences: 2, is_open: true },
        ]);
        expect(await cellOf(worker, first, `(_raw->>'colour')`)).toBe('red');
        await isEqual(worker);

        records.update(first, { colour: undefined });
        expectSuccess(await runAgain(worker));
        expect(await issuesOf(worker, name)).toMatchObject([{ is_open: true }]);
        records.update(second, { colour: undefined });
        expectSuccess(await runAgain(worker));
        expect(await issuesOf(worker, name)).toMatchObject([{ is_open: false }]);
      });
    });

    const observed = specimen.observed?.('observed');
    if (observed !== undefined) {
      test('records as the service was observed to send them are stored without a data issue', async () => {
        const worker = await synced();
        for (const record of observed) specimen.records(worker).put(record);
        const result = await runAgain(worker);
        expectSuccess(result);
        expect(result.counts).toMatchObject({ inserted: observed.length, rejected: 0 });
        expect(await issuesOf(worker, name)).toEqual([]);
        await isEqual(worker);
      });
    }

    if (specimen.unknownValue !== null) {
      const { patch: fields, field, value } = specimen.unknownValue;
      test('an undocumented value is stored unchanged, with an issue', async () => {
        const worker = await synced();
        const key = someKey(worker);
        patch(worker, key, fields);
        expectSuccess(await runAgain(worker));
        expect(await issuesOf(worker, name)).toMatchObject([
          { kind: 'unknown_value', record_id: key, field, value, is_open: true },
        ]);
        await isEqual(worker);
      });
    }

    ofEveryStream(() => {
      test('text that PostgreSQL cannot store is replaced by storable text, and a second sync of it writes nothing', async () => {
        const worker = await synced();
        const key = someKey(worker);
        const { field, column } = specimen.text;
        specimen.records(worker).update(key, { [field]: 'a\u0000b\ud83dc\ude00d😀\\u0000\t\n\\N' });
        expectSuccess(await runAgain(worker));
        expect(await cellOf(worker, key, column)).toBe('a\ufffdb\ufffdc\ufffdd😀\\u0000\t\n\\N');
        await isEqual(worker);
        await specimen.beforeRun(worker);
        const before = await rowVersions(worker);
        expectSuccess(await worker.run(name, { force: true }));
        expect(await rowVersions(worker)).toEqual(before);
      });
    });

    ofStoredAsReceived(() => {
      test('a record that is in a response twice is stored once, and a second sync of it writes nothing', async () => {
        const worker = await createWorker();
        const records = specimen.records(worker);
        const [first, second] = [someKey(worker), [...records.keys()][5] ?? ''];
        records.put({ ...records.get(first) }, 'the same again');
        records.put({ ...records.get(second), [specimen.text.field]: 'named differently' }, 'not the same');
        const result = await runAgain(worker);
        if ('pageSize' in stream.readMode) {
          // A total that counts a record twice contradicts the list: what there is gets stored, and the run fails.
          expect(result).toMatchObject({ outcome: 'failed', error: { code: 'read_incomplete' } });
          expect(result.counts.deleted).toBe(0);
          expect(await rowCount(worker)).toBe(records.size - 2);
          return;
        }
        expectSuccess(result);
        expect(result.counts).toMatchObject({
          read: records.size,
          inserted: records.size - 2,
          unchanged: 2,
          rejected: 0,
        });
        await isEqual(worker);
        for (let again = 0; again < 2; again += 1) {
          await specimen.beforeRun(worker);
          const before = await rowVersions(worker);
          const { counts } = await worker.run(name, { force: true });
          expect(await rowVersions(worker)).toEqual(before);
          expect(counts).toMatchObject({ inserted: 0, updated: 0, unchanged: records.size });
        }
      });

      test('a key beyond 2^53 is rejected, and digits that no column holds stay in _raw', async () => {
        const worker = await synced();
        const key = someKey(worker);
        const records = specimen.records(worker);
        // A record with a field that is never stored is written anew.
        const dropped = Object.values(stream.fields).flatMap(({ isDropped, name }) =>
          isDropped ? (name ?? []) : [],
        );
        for (const one of dropped) records.update(key, { [one]: undefined });
        records.update(key, { measured: [new RawNumber('9007199254740993'), new RawNumber('0.10')] });
        records.put({
          ...specimen.build('9007199254740993'),
          [specimen.keyField]: new RawNumber('9007199254740993'),
        });
        const result = await runAgain(worker);
        expectSuccess(result);
        expect(result.counts.rejected).toBe(1);
        expect(await cellOf(worker, key, `(_raw->'measured')`)).toBe('[9007199254740993, 0.10]');
        const issues = await issuesOf(worker, name);
        expect(issues).toMatchObject([
          { record_id: null, kind: 'record_rejected', is_open: true },
          { field: 'measured', kind: 'unknown_field' },
        ]);
      });
    });

    test('every reading of the specification leads to equal rows', async () => {
      const worker = await synced();
      const rows = await rowCount(worker);
      const fields = [...specimen.records(worker).values()].flatMap((record) => Object.keys(record));
      const fieldsBesidesKey = [...new Set(fields)].filter((name) => name !== specimen.keyField);
      const readings: Partial<Readings>[] = [
        { leftOut: optionalFields },
        { extraFields: true },
        { followups: 'specified', leftOut: fieldsBesidesKey },
        {},
      ];
      for (const reading of readings) {
        Object.assign(worker.sandbox.readings, defaultReadings, reading);
        const result = await runAgain(worker);
        expectSuccess(result);
        expect([reading, result.counts.inserted, result.counts.deleted]).toEqual([reading, 0, 0]);
        await isEqual(worker);
      }
      expect(await rowCount(worker)).toBe(rows);
      expect((await issuesOf(worker, name)).filter((issue) => issue.is_open)).toEqual([]);
    });

    ofEveryStream(() => {
      test('a failing request changes no row, and its failed run is stored with error code and request id', async () => {
        const worker = await synced();
        specimen.records(worker).update(someKey(worker), { [specimen.text.field]: 'changed meanwhile' });
        await specimen.beforeRun(worker);
        const [before, state] = [await rowVersions(worker), await stateOf(worker, name)];
        worker.sandbox.requests.length = 0;
        worker.sandbox.faults.next(() => true, { kind: 'error', error: 'request_data_invalid' }, 100);
        const result = await worker.run(name, { force: true });
        expect(result).toMatchObject({ outcome: 'failed', error: { code: 'request_data_invalid' } });
        expect(await rowVersions(worker)).toEqual(before);
        expect(await stateOf(worker, name)).toEqual(state);
        const [run] = await runsOf(worker, name);
        expect(run).toMatchObject({
          status: 'failed',
          is_finished: true,
          error_code: 'request_data_invalid',
          requests: worker.sandbox.requests.length,
          records_read: 0,
        });
        expect(worker.sandbox.requests.map((entry) => entry.requestId)).toContain(run?.request_id);
        worker.sandbox.faults.clear();
        expectSuccess(await runAgain(worker));
        await isEqual(worker);
      });

      test('faults of every kind delay a sync without a change of its result', async () => {
        const worker = await createWorker({ requestTimeoutMs: 250 });
        await specimen.beforeRun(worker);
        worker.sandbox.faults.script(EVERY_FAULT);
        worker.sandbox.faults.set({
          rateLimit: 0.03,
          serverError: 0.03,
          reset: 0.03,
          hang: 0.02,
          cut: 0.03,
          nonJson: 0.03,
          slow: 0.03,
          slowMs: 60,
        });
        const result = await worker.run(name, { force: true });
        expectSuccess(result);
        expect(result.retries).toBeGreaterThanOrEqual(EVERY_FAULT.length);
        expect(result.requests).toBe(worker.sandbox.requests.length);
        const records = specimen.records(worker).size;
        expect(result.counts).toMatchObject({ read: records, inserted: records, unchanged: 0 });
        worker.sandbox.faults.clear();
        await isEqual(worker);
      });

      test('a token that is refused as invalid or inactive, or for an inactive account, is not tried a second time in a run', async () => {
        const worker = await createWorker();
        await specimen.beforeRun(worker);
        const before = await rowVersions(worker);
        const { access } = worker.sandbox;
        for (const code of ['token_inactive', 'account_inactive', 'token_invalid'] as const) {
          if (code === 'token_invalid') access.revoke();
          else access.set(code === 'token_inactive' ? 'inactive' : 'account-inactive');
          worker.sandbox.requests.length = 0;
          const result = await worker.run(name, { force: true });
          expect(result).toMatchObject({ outcome: 'failed', error: { code, recovery: 'fail_run' } });
          expect(worker.sandbox.requests.length).toBeLessThanOrEqual(1);
          expect(await rowVersions(worker)).toEqual(before);
          expect((await runsOf(worker, name))[0]).toMatchObject({ status: 'failed', error_code: code });
        }
      });

      test('two syncs of a stream never overlap: a scheduled one skips, a manual one waits', async () => {
        const waiting = createGate();
        const asked = createGate();
        const gate = createGate();
        onTestFinished(() => gate.open());
        const overlapping = createGate();
        const worker = await createWorker({ events: { onWait: () => waiting.open() } });
        await specimen.beforeRun(worker);
        const before = worker.sandbox.requests.length;
        worker.sandbox.hooks.beforeResponse = async () => {
          asked.open();
          if (worker.sandbox.requests.length - before > 1) overlapping.open();
          await gate.opened;
        };
        const first = worker.run(name, { force: true });
        await asked.opened;
        const skipping = worker.run(name, { force: true, trigger: 'schedule' });
        const scheduled = await Promise.race([skipping, overlapping.opened.then(() => undefined)]);
        expect(scheduled).toMatchObject({ outcome: 'skipped', requests: 0, isTaken: true });
        const second = worker.run(name, { force: true });
        await waiting.opened;
        const beforeRelease = worker.sandbox.requests.length;
        gate.open();
        expectSuccess(await first);
        expectSuccess(await second);
        expect(beforeRelease).toBeLessThanOrEqual(1);
        const [overlap] = await worker.query<{ overlapping: number }>(
          `select count(*)::int as overlapping from safety_sync.runs a join safety_sync.runs b
         on a.account_id = b.account_id and a.stream = b.stream and a.run_id < b.run_id and a.finished_at > b.started_at
       where a.stream = '${name}' and a.status = 'succeeded' and b.status = 'succeeded'`,
        );
        expect(overlap).toEqual({ overlapping: 0 });
        // A skipped run writes no row, because replicas would fill the table with them.
        expect(scheduled?.record.runId).toBeNull();
        expect((await runsOf(worker, name)).map((run) => run.status)).toEqual(['succeeded', 'succeeded']);
        await isEqual(worker);
      });

      test('a run that a dead worker left open is closed as worker_died by the next run', async () => {
        const worker = await createWorker();
        await specimen.beforeRun(worker);
        await worker.query(
          `insert into safety_sync.runs (account_id, stream, kind, trigger, status, owner, program_version)
       values ('default', '${name}', 'sync', 'schedule', 'running', 'gone', '1.0.0'),
         ('another account', '${name}', 'sync', 'schedule', 'running', 'alive', '1.0.0')`,
        );
        expectSuccess(await worker.run(name, { force: true }));
        expect(await runsOf(worker, name)).toMatchObject([
          { status: 'succeeded' },
          { status: 'running', is_finished: false },
          { status: 'failed', is_finished: true, error_code: 'worker_died' },
        ]);
        await isEqual(worker);
      });
    });
  });
}
