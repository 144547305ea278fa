/**
 * Tells an outage once when it begins and once when it ends, however many runs fail in between. What depends on the
 * service is followed stream by stream: one that keeps failing does not make the others end its outage.
 */
import { formatDuration, formatNumber } from '../shared/format.ts';
import type { SafetySyncError } from '../shared/errors.ts';
import type { Logger } from '../shared/logger.ts';
import type { Clock } from '../shared/time.ts';

export type Dependency = 'service' | 'database';

export interface Outage {
  readonly dependency: Dependency;
  /** ms since 1970, by our clock. */
  readonly sinceMs: number;
  readonly failedRuns: number;
  /** Of its beginning. */
  readonly code: string;
  readonly message: string;
}

export interface OutageLog {
  /** True when this failure is part of an outage that was told already, or is told now: no need to say it again. */
  noteFailure(who: string, error: SafetySyncError, fields?: Readonly<Record<string, unknown>>): boolean;
  /** `who` was answered. */
  noteAnswer(dependency: Dependency, who: string): void;
  /** `who` ended well without asking the service: it is no longer part of an outage in which others were answered. */
  noteUnasked(who: string): void;
  current(dependency: Dependency): Outage | undefined;
}

/** Not a run: the look at the database that the worker takes every few seconds. */
export const WATCH = 'watch';

/** What cannot be reached or does not answer sensibly; undefined for every other failure. */
export function dependencyOf({ code, recovery }: SafetySyncError): Dependency | undefined {
  if (code === 'database_unreachable' || code === 'lock_lost') return 'database';
  return recovery === 'retry' ? 'service' : undefined;
}

interface OpenOutage {
  readonly sinceMs: number;
  readonly startedMs: number;
  readonly error: SafetySyncError;
  readonly affected: Set<string>;
  /** Somebody was answered since it began. */
  isAnswered: boolean;
  failedRuns: number;
}

export interface OutageLogOptions {
  readonly log: Logger;
  readonly clock: Clock;
  /** Follows the database for all accounts of a process: its outage is theirs together, and is told once. */
  readonly shared?: OutageLog | undefined;
}

export function createOutageLog({ log, clock, shared }: OutageLogOptions): OutageLog {
  const open = new Map<Dependency, OpenOutage>();

  function begin(dependency: Dependency, error: SafetySyncError, fields: object): OpenOutage {
    const outage: OpenOutage = {
      sinceMs: clock.now(),
      startedMs: clock.monotonicMs(),
      error,
      affected: new Set(),
      isAnswered: false,
      failedRuns: 0,
    };
    open.set(dependency, outage);
    log.error(
      {
        outage: dependency,
        error_code: error.code,
        error_message: error.message,
        advice: error.advice,
        ...fields,
      },
      `the ${dependency} cannot be used (${error.code}: ${error.message}); trying on, silent until it is back. ${error.advice}`,
    );
    return outage;
  }

  function takeOut(dependency: Dependency, outage: OpenOutage, who: string): void {
    outage.affected.delete(who);
    if (outage.affected.size > 0) return;
    open.delete(dependency);
    const durationMs = clock.monotonicMs() - outage.startedMs;
    log.info(
      { outage: dependency, duration_ms: Math.round(durationMs), failed_runs: outage.failedRuns },
      `the ${dependency} is back after ${formatDuration(durationMs)}; ${formatNumber(outage.failedRuns, 'run')} failed meanwhile`,
    );
  }

  return {
    noteFailure(who, error, fields = {}) {
      const dependency = dependencyOf(error);
      if (dependency === undefined) return false;
      if (dependency === 'database' && shared !== undefined) return shared.noteFailure(who, error, fields);
      const outage = open.get(dependency) ?? begin(dependency, error, fields);
      outage.affected.add(who);
      if (who !== WATCH) outage.failedRuns += 1;
      return true;
    },
    noteAnswer(dependency, who) {
      if (dependency === 'database' && shared !== undefined) {
        shared.noteAnswer(dependency, who);
        return;
      }
      const outage = open.get(dependency);
      if (outage === undefined) return;
      outage.isAnswered = true;
      // One answer of the database is good for all.
      if (dependency === 'database') outage.affected.clear();
      takeOut(dependency, outage, who);
    },
    noteUnasked(who) {
      const outage = open.get('service');
      if (outage?.isAnswered === true) takeOut('service', outage, who);
    },
    current(dependency) {
      if (dependency === 'database' && shared !== undefined) return shared.current(dependency);
      const outage = open.get(dependency);
      if (outage === undefined) return undefined;
      const { sinceMs, failedRuns, error } = outage;
      return { dependency, sinceMs, failedRuns, code: error.code, message: error.message };
    },
  };
}
