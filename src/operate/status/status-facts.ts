/** The facts that a Status is made of: the last read of the warehouse, and the state that only this process has. */
import type { AccountConfig, OffReasons } from '../../config/account-config.ts';
import type { BackfillProgress } from '../../engine/reading/step.ts';
import type { StreamName } from '../../engine/streams/stream.ts';
import type { Outage } from '../health/outage-log.ts';
import type { OpenCircuit } from '../health/circuit-breaker.ts';
import type { WarehouseRead } from './read-account-rows.ts';
import type { Volumes } from './read-volumes.ts';
import type { PlannedRun, ProcessStatus, ServiceLoad } from './status.ts';

/** The last read of the warehouse. */
export interface WarehouseState {
  /** null: not read yet. */
  readonly seen: WarehouseRead | null;
  readonly counted: Volumes | null;
  /** When the count started, by this process's clock; null: never. */
  readonly countedAtMs: number | null;
  /** Why the database is unreachable; null: it responds. A slow database counts as reachable: its last read is shown with its age. */
  readonly problem: string | null;
  /** The newest read timed out, though the database responds. */
  readonly isSlow: boolean;
}

export const NO_WAREHOUSE_STATE: WarehouseState = {
  seen: null,
  counted: null,
  countedAtMs: null,
  problem: null,
  isSlow: false,
};

/** An account and the state of its runner. */
export interface AccountFacts {
  readonly account: {
    readonly id: string;
    readonly offReasons: OffReasons;
    readonly health: { readonly outage: Outage | undefined; readonly openCircuits: readonly OpenCircuit[] };
    readonly config: Pick<AccountConfig, 'service' | 'equipmentTypes' | 'reportingTimezone'> & {
      readonly schedule: { readonly timezone: string };
    };
  };
  /** Progress of this process's runs. */
  readonly progress: ReadonlyMap<StreamName, BackfillProgress>;
  /** Load of the service; null: no request was sent yet. */
  readonly pressure: ServiceLoad | null;
}

/** Times are by this process's clock. */
export interface StatusFacts extends Omit<ProcessStatus, 'database' | 'outages'> {
  readonly warehouse: WarehouseState;
  readonly databaseOutage: Outage | undefined;
  /** One account, or all of them. */
  readonly accounts: readonly AccountFacts[];
  /** The next runs of one account that is shown in full, soonest first; null: the accounts are shown in short. */
  readonly nextRuns: readonly PlannedRun[] | null;
}
