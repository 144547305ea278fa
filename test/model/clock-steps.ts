/** Which clocks may step: two that go back between the same two reads hide each other, and nobody could tell. */
import type { Sandbox } from '../../src/sandbox/index.ts';

type SteppingClock = 'ours' | 'service' | 'header';

interface ClockSteps {
  /** Whether this clock may step now; if so, it has. `aheadMs`: to where the service's steps. */
  mayStep(clock: SteppingClock, aheadMs?: number): boolean;
  /** Clocks that are off will be right in a moment: that is a step of theirs. */
  recordPutRight(): void;
  /** Follow-ups were read: what stepped before is known. */
  recordRead(): void;
}

/** Of our clock, the service's and its Date header, only one steps between two reads of follow-ups. */
export function createClockSteps(
  { serviceClock, readings }: Pick<Sandbox, 'serviceClock' | 'readings'>,
  onPassedBy: () => void,
): ClockSteps {
  let aheadAtReadMs = serviceClock.aheadMs;
  /** What the service changed while its clock was back lies before the watermark, and no response tells that it was back. */
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
