/** The stored part of one stream, in memory: records as received, ledger, lookups. A transaction works on a copy. */
import type { WarehouseReads } from '../../src/engine/reading/read-request.ts';
import type { ControlWrite } from '../../src/engine/reading/step.ts';
import type { BackfillPlan, Hole, LedgerSlice, TimeSlice } from '../../src/engine/streams/state.ts';
import type { Coverage, ReadContext, StreamDefinition } from '../../src/engine/streams/stream.ts';
import { recordKey } from '../../src/engine/streams/wire.ts';
import { DAY_MS, MINUTE_MS } from '../../src/shared/time.ts';
import type { Received } from '../../src/shared/received.ts';
import type { WireObject } from './source-wire.ts';

interface StoredRecord {
  readonly text: string;
  /** The partition that returned it last; null: the stream has none. */
  readonly partition: string | null;
  readonly isLive: boolean;
}

interface StoredSlice {
  readonly slice: LedgerSlice;
  readonly finishedAt: number;
}

interface Lookup {
  readonly askedAt: number | null;
  readonly dueAt: number;
  readonly isKnown: boolean | null;
  readonly failures: number;
  readonly error: string | null;
}

const isSame = (one: TimeSlice, other: TimeSlice): boolean =>
  one.fromMs === other.fromMs && one.toMs === other.toMs;
const toPending = ({ fromMs, toMs }: TimeSlice): LedgerSlice => ({
  fromMs,
  toMs,
  status: 'pending',
  readToMs: toMs,
  expected: null,
  records: 0,
  failures: 0,
});
const isHole = ({ slice }: StoredSlice): boolean => slice.status !== 'done' && slice.failures > 0;
const isHoleWithin = (one: StoredSlice, { fromMs, toMs }: TimeSlice): boolean =>
  isHole(one) && one.slice.fromMs >= fromMs && one.slice.toMs <= toMs;
const newestFirst = (one: StoredSlice, other: StoredSlice): number => other.slice.toMs - one.slice.toMs;

export class MemoryWarehouse {
  readonly #stream: StreamDefinition;
  readonly #now: () => number;
  records = new Map<string, StoredRecord>();
  plan: BackfillPlan | undefined;
  slices: readonly StoredSlice[] = [];
  lookups = new Map<string, Lookup>();
  /** Keys that the run has received. */
  seen = new Set<string>();

  constructor(stream: StreamDefinition, now: () => number) {
    this.#stream = stream;
    this.#now = now;
  }

  copy(): MemoryWarehouse {
    return new MemoryWarehouse(this.#stream, this.#now).become(this);
  }

  /** A rollback, or a commit: takes the content of another copy. */
  become(other: MemoryWarehouse): this {
    this.records = new Map(other.records);
    this.plan = other.plan;
    this.slices = other.slices;
    this.lookups = new Map(other.lookups);
    this.seen = new Set(other.seen);
    return this;
  }

  /** Within a run an older version of a record does not replace a newer one. */
  add(received: Received, about: ReadContext): void {
    const key = recordKey(received, this.#stream.keyField);
    if (key === null) return;
    const record = received.parse() as WireObject;
    const before = this.records.get(key);
    const changeTimeField = this.#stream.changeTimeColumn ?? '';
    const isOlder =
      this.seen.has(key) &&
      Number((JSON.parse(before?.text ?? '{}') as WireObject)[changeTimeField]) >
        Number(record[changeTimeField]);
    this.seen.add(key);
    if (isOlder) return;
    this.records.set(key, {
      text: JSON.stringify(record),
      partition: about.equipmentTypeId ?? null,
      isLive: true,
    });
  }

  live(): Map<string, WireObject> {
    const live = [...this.records].filter(([, { isLive }]) => isLive);
    return new Map(live.map(([key, { text }]) => [key, JSON.parse(text) as WireObject]));
  }

  vanished({ partitions }: Coverage): Set<string> {
    const isCovered = ({ partition, isLive }: StoredRecord): boolean =>
      isLive && (partitions === null || partitions.includes(partition ?? ''));
    const unseen = [...this.records].filter(([key, one]) => isCovered(one) && !this.seen.has(key));
    return new Set(unseen.map(([key]) => key));
  }

  delete(covered: Coverage): void {
    for (const key of this.vanished(covered)) {
      const record = this.records.get(key);
      if (record !== undefined) this.records.set(key, { ...record, isLive: false });
    }
  }

  /** Ids in records of other streams: none was looked up yet. */
  mention(ids: readonly string[]): void {
    const fresh = { askedAt: null, dueAt: 0, isKnown: null, failures: 0, error: null };
    for (const id of ids) this.lookups.set(id, fresh);
  }

  holes(): Hole[] {
    return this.slices.filter(isHole).map(({ slice, finishedAt }) => {
      const waitMs = Math.min(DAY_MS, 15 * MINUTE_MS * 2 ** (slice.failures - 1));
      return { slice, isDue: slice.status === 'pending' || finishedAt + waitMs <= this.#now() };
    });
  }

  write(change: ControlWrite): void {
    switch (change.kind) {
      case 'plan': {
        const fromMs = Math.min(...change.slices.map((slice) => slice.fromMs));
        const toMs = Math.max(...change.slices.map((slice) => slice.toMs));
        const isBeside = ({ slice }: StoredSlice): boolean => slice.fromMs < fromMs || slice.toMs > toMs;
        this.plan = change.plan;
        this.slices = this.slices.filter((one) => isHole(one) && isBeside(one));
        this.#put(change.slices);
        break;
      }
      case 'slice':
        this.#put([change.slice]);
        if (change.slice.status === 'done')
          this.slices = this.slices.filter((one) => !isHoleWithin(one, change.slice));
        break;
      case 'cut':
        this.slices = this.slices.filter(({ slice }) => !isSame(slice, change.slice));
        this.#put(change.pieces);
        break;
      case 'hole': {
        const known = this.slices.find(({ slice }) => isSame(slice, change.slice))?.slice;
        const failures = (known?.failures ?? 0) + 1;
        this.#put([{ ...(known ?? toPending(change.slice)), status: 'failed', failures }]);
        break;
      }
      case 'lookups':
        for (const { userId, isKnown, againInMs, failures, error } of change.results) {
          const before = this.lookups.get(userId);
          this.lookups.set(userId, {
            askedAt: Math.max(this.#now(), Number(change.begunAt)),
            dueAt: againInMs === null ? (before?.dueAt ?? 0) : this.#now() + againInMs,
            isKnown: isKnown ?? before?.isKnown ?? null,
            failures,
            error,
          });
        }
    }
  }

  #put(slices: readonly LedgerSlice[]): void {
    const others = this.slices.filter((one) => !slices.some((slice) => isSame(one.slice, slice)));
    const added = slices.map((slice) => ({ slice, finishedAt: this.#now() }));
    this.slices = [...others, ...added].toSorted(newestFirst);
  }

  #lookups(order: 1 | -1): [string, Lookup][] {
    return [...this.lookups].toSorted(
      ([one, a], [other, b]) => order * ((a.askedAt ?? -1) - (b.askedAt ?? -1)) || (one < other ? -1 : 1),
    );
  }

  reads(): WarehouseReads {
    return {
      findVanished: (covered) => Promise.resolve(this.vanished(covered)),
      readLedger: () =>
        Promise.resolve(this.plan && { plan: this.plan, slices: this.slices.map(({ slice }) => slice) }),
      readHoles: () => Promise.resolve(this.holes()),
      readTime: () => Promise.resolve(String(this.#now())),
      readDueLookups: ({ all, notAskedSince, limit }) => {
        const due = this.#lookups(1).filter(
          ([, { askedAt, dueAt }]) =>
            (all || dueAt <= this.#now()) && (askedAt === null || askedAt < Number(notAskedSince)),
        );
        return Promise.resolve(due.slice(0, limit).map(([userId, { failures }]) => ({ userId, failures })));
      },
      readSucceededLookups: (limit) => {
        const known = this.#lookups(-1).filter(([, one]) => one.isKnown !== null && one.failures === 0);
        return Promise.resolve(known.slice(0, limit).map(([userId]) => userId));
      },
      readFailingLookups: (limit) => {
        const failing = [...this.lookups].filter(([, { failures }]) => failures > 0).toSorted();
        const some = failing.slice(0, limit).map(([userId, { error }]) => ({ userId, error }));
        return Promise.resolve({ total: failing.length, some });
      },
    };
  }
}
