import type { RequestLogEntry } from '../request-log.ts';
import type { Fault, FaultKind, FaultOptions } from './fault.ts';

export type FaultPredicate = (entry: RequestLogEntry) => boolean;

export interface FaultController {
  /** Replaces the given rates and the limiter; others stay. */
  set(options: FaultOptions): void;
  /** Ends all faults: rates, limiter, script and what `next` waits for. Counters stay. */
  clear(): void;
  /** One entry a request, in order, before any rate; null is a request without a fault. */
  script(faults: readonly (Fault | null)[]): void;
  /** The next `times` (default 1) requests that match get this fault. */
  next(predicate: FaultPredicate, fault: Fault, times?: number): void;
  /** How many of each kind were injected. */
  readonly counts: Readonly<Record<FaultKind, number>>;
  /** Refusals by the limiter; not part of `counts`. */
  readonly limited: number;
}
