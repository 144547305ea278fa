/**
 * The request budget of an account: how many requests may start in a minute, and when none may start because the service
 * refused one (`rate_limit_exceeded`, HTTP 429). All processes of the account share one state, which a store keeps with a
 * clock of its own; the decisions about it are pure functions.
 *
 * A block ends with one request that goes alone, the probe. Its claim in the state ends by itself, so a process that dies
 * during the probe holds the others up no longer than the block did.
 */
import pLimit from 'p-limit';
import { type Clock, HOUR_MS, MINUTE_MS, SECOND_MS, sleep } from '../../shared/time.ts';

/** Times are ms since 1970 by the clock of the store. */
export interface BudgetState {
  /** Starts are saved up since then; never in the future. */
  readonly savedSinceMs: number;
  /** When the newest block began; requests that started before belong to it. */
  readonly blockedAtMs: number | null;
  /** null: no block. In the past: the block is over, and it is unknown whether the service accepts requests again. */
  readonly blockedUntilMs: number | null;
  /** Until then the probe is under way; null: it is not. */
  readonly probeUntilMs: number | null;
}

export interface BudgetStore {
  read(): Promise<{ readonly nowMs: number; readonly state: BudgetState | null }>;
  /** False when the state is no longer `before`. */
  replace(before: BudgetState | null, after: BudgetState): Promise<boolean>;
}

export interface Rate {
  /** Most starts that are saved up. */
  readonly burst: number;
  /** ms after which another start is saved up. */
  readonly intervalMs: number;
}

const MOST_SAVED = 10;
/** A start that is not used so long after it was given lapses. */
const LAPSE_MS = SECOND_MS;

/** The rate at which no 60 s hold more starts than `perMinute`, the saved ones included. */
export function rateOf(perMinute: number): Rate {
  const burst = Math.min(MOST_SAVED, Math.floor(perMinute / 4));
  const returning = perMinute - burst;
  // A start may be used until it lapses: where several return in that time, 60 s would hold those, too.
  const windowMs = MINUTE_MS + (returning < MINUTE_MS / LAPSE_MS ? 0 : LAPSE_MS);
  return { burst, intervalMs: Math.ceil(windowMs / returning) };
}

export const evenRateOf = (perMinute: number): Rate => ({
  burst: 1,
  intervalMs: Math.ceil(MINUTE_MS / perMinute),
});

/** `after`: the state to store; null: it does not change. */
type Decision = { readonly after: BudgetState | null } & (
  | { readonly kind: 'start'; readonly isProbe: boolean }
  | { readonly kind: 'wait'; readonly ms: number; readonly blockedUntilMs: number | null }
);

const UNBLOCKED = { blockedAtMs: null, blockedUntilMs: null, probeUntilMs: null };

/** Whether a request may start. `rate` null: as many as it likes while there is no block. */
export function decide(state: BudgetState | null, nowMs: number, rate: Rate | null): Decision {
  const known = state ?? { ...UNBLOCKED, savedSinceMs: nowMs };
  const { blockedAtMs, blockedUntilMs, probeUntilMs } = known;
  if (blockedUntilMs !== null && nowMs < blockedUntilMs)
    return { kind: 'wait', ms: blockedUntilMs - nowMs, blockedUntilMs, after: null };
  // The response to the probe may end the wait earlier.
  if (blockedUntilMs !== null && probeUntilMs !== null && nowMs < probeUntilMs)
    return { kind: 'wait', ms: Math.min(probeUntilMs - nowMs, SECOND_MS), blockedUntilMs: null, after: null };
  const isProbe = blockedUntilMs !== null;
  // The claim of the probe lasts as long as the block did.
  const probe = isProbe ? { probeUntilMs: nowMs + blockedUntilMs - (blockedAtMs ?? nowMs) } : {};
  if (rate === null) return { kind: 'start', isProbe, after: isProbe ? { ...known, ...probe } : null };
  const { burst, intervalMs } = rate;
  const savedSinceMs = Math.max(known.savedSinceMs, nowMs - burst * intervalMs) + intervalMs;
  const first = state === null ? known : null;
  if (savedSinceMs > nowMs)
    return { kind: 'wait', ms: savedSinceMs - nowMs, blockedUntilMs: null, after: first };
  return { kind: 'start', isProbe, after: { ...known, ...probe, savedSinceMs } };
}

/** The start of a request. */
export interface Start {
  readonly atMs: number;
  readonly isProbe: boolean;
}

/** `unanswered`: there is no response, or it is unusable. */
export type StartEnd = 'answered' | 'unanswered' | 'refused';

/** The state after a request; null: it does not change. `blockMs`: the block that a refusal begins. */
export function stateAfter(
  state: BudgetState | null,
  nowMs: number,
  { start, end, blockMs }: { start: Start; end: StartEnd; blockMs: number },
): BudgetState | null {
  // The request started before the newest block, so its result says nothing about that block.
  if (state !== null && state.blockedAtMs !== null && start.atMs <= state.blockedAtMs) return null;
  if (end === 'refused') {
    const savedSinceMs = state?.savedSinceMs ?? nowMs;
    return { savedSinceMs, blockedAtMs: nowMs, blockedUntilMs: nowMs + blockMs, probeUntilMs: null };
  }
  if (state === null || !start.isProbe) return null;
  return { ...state, probeUntilMs: null, ...(end === 'answered' ? { blockedUntilMs: null } : {}) };
}

const LONGEST_BLOCK_MS = HOUR_MS;
/** The block where the service sends no Retry-After. */
const USUAL_BLOCK_MS = MINUTE_MS;

const blockMsOf = (retryAfterMs: number | undefined, random: () => number): number =>
  Math.ceil(Math.min(retryAfterMs ?? USUAL_BLOCK_MS * (1 + random() / 10), LONGEST_BLOCK_MS));

export interface RequestBudgetOptions {
  readonly store: BudgetStore;
  /** null: no limit but the blocks. */
  readonly rate: Rate | null;
  readonly clock: Pick<Clock, 'monotonicMs'>;
  /** In [0, 1). */
  readonly random: () => number;
  /** Called once for each block that holds a request up. */
  readonly onBlocked?: (untilMs: number) => void;
}

export type RequestBudget = ReturnType<typeof createRequestBudget>;

export function createRequestBudget({ store, rate, clock, random, onBlocked }: RequestBudgetOptions) {
  /** One request at a time waits for the next start, the others behind it. */
  const turn = pLimit(1);
  let knownBlockMs: number | null = null;

  async function takeStart(signal: AbortSignal): Promise<Start> {
    for (;;) {
      signal.throwIfAborted();
      const askedMs = clock.monotonicMs();
      const { nowMs, state } = await store.read();
      const decision = decide(state, nowMs, rate);
      if (decision.after !== null && !(await store.replace(state, decision.after))) continue;
      if (decision.kind === 'start') {
        const hasLapsed = rate !== null && clock.monotonicMs() - askedMs > LAPSE_MS;
        if (!hasLapsed) return { atMs: nowMs, isProbe: decision.isProbe };
        continue;
      }
      const { blockedUntilMs } = decision;
      if (blockedUntilMs !== null && blockedUntilMs !== knownBlockMs) onBlocked?.(blockedUntilMs);
      knownBlockMs = blockedUntilMs;
      await sleep(decision.ms, signal);
    }
  }

  async function recordEnd(start: Start, end: StartEnd, retryAfterMs?: number): Promise<void> {
    if (end !== 'refused' && !start.isProbe) return;
    const blockMs = blockMsOf(retryAfterMs, random);
    for (;;) {
      const { nowMs, state } = await store.read();
      const after = stateAfter(state, nowMs, { start, end, blockMs });
      if (after === null || (await store.replace(state, after))) return;
    }
  }

  return {
    /** Resolves when a request may start; it must be sent at once. Rejects with the reason of an aborted signal. */
    take: (signal: AbortSignal): Promise<Start> => turn(() => takeStart(signal)),
    /** Call with each start once. `retryAfterMs`: what a refusal asked for. */
    recordEnd,
  };
}

/** Keeps the state in this process only. */
export function createMemoryStore(clock: Pick<Clock, 'now'>): BudgetStore {
  let kept: BudgetState = { savedSinceMs: 0, ...UNBLOCKED };
  return {
    read: () => Promise.resolve({ nowMs: Math.floor(clock.now()), state: kept }),
    replace: (before, after) => {
      if (before !== kept) return Promise.resolve(false);
      kept = after;
      return Promise.resolve(true);
    },
  };
}
