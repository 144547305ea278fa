/** The stored part of one stream, in memory: records as received, and the ledger. A transaction works on a copy. */
import type { WarehouseReads } from '../../src/engine/reading/read-request.ts';
import type { ControlWrite } from '../../src/engine/reading/step.ts';
import type { BackfillPlan, LedgerSlice, TimeSlice } from '../../src/engine/streams/state.ts';
import type { Coverage, ReadContext, StreamDefinition } from '../../src/engine/streams/stream.ts';
import { recordKey } from '../../src/engine/streams/wire.ts';
import type { Received } from '../../src/shared/received.ts';
import type { WireObject } from './source-wire.ts';

interface StoredRecord {
  readonly text: string;
  /** The partition that returned it last; null: the stream has none. */
  readonly partition: string | null;
  readonly isLive: boolean;
}

const isSame = (one: TimeSlice, other: TimeSlice): boolean =>
  one.fromMs === other.fromMs && one.toMs === other.toMs;

export class MemoryWarehouse {
  readonly #stream: StreamDefinition;
  readonly #now: () => number;
  records = new Map<string, StoredRecord>();
  plan: BackfillPlan | undefined;
  slices: readonly LedgerSlice[] = [];
  /** When a complete read was last begun. */
  completeReadAt: number | undefined;
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
    this.completeReadAt = other.completeReadAt;
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

  vanished({ partitions, late }: Coverage): Set<string> {
    const changedAt = ({ text }: StoredRecord): number =>
      Number((JSON.parse(text) as WireObject)['updated_on'] ?? 0);
    const isCovered = (record: StoredRecord): boolean =>
      record.isLive &&
      (partitions === null || partitions.includes(record.partition ?? '')) &&
      (late === undefined || changedAt(record) <= late.fromMs || changedAt(record) > late.toMs);
    const unseen = [...this.records].filter(([key, one]) => isCovered(one) && !this.seen.has(key));
    return new Set(unseen.map(([key]) => key));
  }

  delete(covered: Coverage): void {
    for (const key of this.vanished(covered)) {
      const record = this.records.get(key);
      if (record !== undefined) this.records.set(key, { ...record, isLive: false });
    }
  }

  write(change: ControlWrite): void {
    switch (change.kind) {
      case 'plan':
        this.plan = change.plan;
        this.slices = this.slices.filter(({ status }) => status === 'failed');
        break;
      case 'slice':
        if (!this.slices.some((one) => isSame(one, change.slice) && one.status === 'failed'))
          this.#put(change.slice);
        break;
      case 'read_again': {
        const { fromMs, toMs } = change.range;
        this.slices = this.slices.filter(
          (one) => one.status !== 'failed' || one.fromMs < fromMs || one.toMs > toMs,
        );
        break;
      }
      case 'complete_read':
        this.completeReadAt = this.#now();
        break;
      case 'methods':
      case 'people_asked':
      case 'people_listed':
    }
  }

  #put(slice: LedgerSlice): void {
    const others = this.slices.filter((one) => !isSame(one, slice));
    this.slices = [...others, slice].toSorted((one, other) => other.toMs - one.toMs);
  }

  reads(): WarehouseReads {
    return {
      findVanished: (covered) => Promise.resolve(this.vanished(covered)),
      areStored: () => Promise.resolve(false),
      readLedger: () => Promise.resolve({ plan: this.plan, slices: this.slices }),
      countListed: () => Promise.resolve(this.live().size),
      readOptionalMethods: () => Promise.resolve(new Map()),
      readKnownPeople: () => Promise.resolve({ listed: 0, hasNew: false }),
      readUnknownPeople: () => Promise.resolve([]),
      readTypes: () => Promise.resolve({ named: [], stored: [] }),
      readNamesState: () => Promise.resolve({ live: {}, unnamed: [], dataLists: [] }),
    };
  }
}
