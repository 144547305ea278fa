import type { RequestLogEntry } from '../request-log.ts';
import type { Fault, FaultKind, FaultOptions } from './fault.ts';

export type FaultPredicate = (entry: RequestLogEntry) => boolean;

export interface FaultController {
  /** Replaces the given rates and the limiter; others remain. */
  set(options: FaultOptions): void;
  /** Removes all faults: rates, limiter, script and pending `next` faults. Keeps the counters. */
  clear(): void;
  /** One entry per request, in order; takes precedence over rates. null is a request without a fault. */
  script(faults: readonly (Fault | null)[]): void;
  /** Injects a fault into the next `times` (default 1) matching requests. */
  next(predicate: FaultPredicate, fault: Fault, times?: number): void;
  /** Injected faults by kind. */
  readonly counts: Readonly<Record<FaultKind, number>>;
  /** Requests refused by the limiter; not part of `counts`. */
  readonly limited: number;
}
