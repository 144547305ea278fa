/** One entry of the list of problems (problems.ts). */
import type { AlertEvent } from '../../engine/control-tables/control-tables.ts';

/** Problems that are sent as alerts, and others that are only shown. */
export type ProblemKind =
  | AlertEvent
  | 'never_synced'
  | 'held_up'
  | 'differs'
  | 'request_limit'
  | 'no_worker'
  | 'alerts_refused'
  | 'migrating'
  | 'starting'
  | 'stopping';

export interface Problem {
  readonly kind: ProblemKind;
  /** null: every account. */
  readonly accountId: string | null;
  /** A stream, `reconcile of` a stream, or a stream and one of its fields; empty: the whole account. */
  readonly subject: string;
  /** `busy`: a state that passes by itself; `note`: no problem by itself. */
  readonly level: 'bad' | 'warning' | 'busy' | 'note';
  /** The data cannot be relied on: /readyz is 503. */
  readonly isReason: boolean;
  /** `status` and `alerts` end with 1. */
  readonly isFailure: boolean;
  readonly code: string | null;
  /** Names, counts and times. */
  readonly detail: string | null;
  /** What alerts do not say: texts of the service or the database, and what changes from minute to minute. */
  readonly quote: string | null;
  readonly note: string | null;
  /** Empty: there is none. */
  readonly advice: string;
  /** null: unknown. */
  readonly sinceMs: number | null;
}
