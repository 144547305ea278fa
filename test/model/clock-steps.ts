/**
 * Selects the clocks that may step. If two go back between the same two reads, they hide each other, and no program could
 * detect it.
 */
import type { Sandbox } from '../../src/sandbox/index.ts';

type SteppingClock = 'ours' | 'service' | 'header';

interface ClockSteps {
  /** Whether this clock may step now; true counts as a step. `aheadMs`: the new offset of the service's clock. */
  mayStep(clock: SteppingClock, aheadMs?: number): boolean;
  /** Clocks with an offset are about to be corrected, which is a step as well. */
  recordPutRight(): void;
  /** Follow-ups were read, so earlier steps were detected. */
  recordRead(): void;
}

/** At most one of our clock, the service's clock and its Date header steps between two reads of follow-ups. */
export function createClockSteps(
  { serviceClock, readings }: Pick<Sandbox, 'serviceClock' | 'readings'>,
  onPassedBy: () => void,
): ClockSteps {
  let aheadAtReadMs = serviceClock.aheadMs;
  /** Changes during a setback of the service's clock are below the watermark, and no response shows the setback. */
  const stepForward = (aheadMs: number): void => {
    if (serviceClock.aheadMs < aheadAtReadMs && aheadMs > serviceClock.aheadMs) onPassedBy();
  };
  const stepped = new Set<SteppingClock>();
  const off = (): SteppingClock[] => [
    ...(serviceClock.aheadMs === 0 ? [] : (['service'] as const)),
    ...(readings.dateHeaderAheadMs === 0 ? [] : (['header'] as const)),
  ];
  return {
    mayStep(clock, aheadMs) {
      if ([...stepped, ...off()].some((other) => other !== clock)) return false;
      if (aheadMs !== undefined) stepForward(aheadMs);
      stepped.add(clock);
      return true;
    },
    recordPutRight() {
      stepForward(0);
      for (const clock of off()) stepped.add(clock);
    },
    recordRead() {
      stepped.clear();
      aheadAtReadMs = serviceClock.aheadMs;
    },
  };
}
