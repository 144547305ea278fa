/** Applies departures to the sandbox, and reverts them. */
import {
  defaultReadings,
  type Fault,
  type Readings,
  type RequestLogEntry,
  type Sandbox,
} from '../../src/sandbox/index.ts';
import { type Departure, LISTS } from './departure.ts';

export interface Departures {
  take(departure: Departure): void;
  /** Ends faults, and permits the token everything. */
  putRight(): void;
}

/** Whether every page of this list has the total of all pages. */
export function isTotalSent(readings: Readings, method: string): boolean {
  return (
    method === 'followups.list' ||
    (method === 'training-employee-status.list' && readings.trainingPaging === 'present')
  );
}

/** `isQuiet`: requests come from the comparison and get correct answers. */
export function createDepartures(sandbox: Sandbox, isQuiet: () => boolean): Departures {
  const next = (isMeant: (entry: RequestLogEntry) => boolean, fault: Fault, count: number): void => {
    sandbox.faults.next((entry) => !isQuiet() && isMeant(entry), fault, count);
  };
  const { readings } = sandbox;

  return {
    take(step) {
      switch (step.kind) {
        case 'reading':
          Object.assign(readings, step.reading);
          return;
        case 'type-fails': {
          const type = sandbox.equipmentTypes[step.at % sandbox.equipmentTypes.length];
          const isAsked = ({ params }: RequestLogEntry) => params['equipmentType_id'] === type;
          next(isAsked, { kind: 'error', error: step.error }, step.times ?? Infinity);
          return;
        }
        case 'followup-fails': {
          const ids = [...sandbox.store.followups.keys()];
          readings.unrenderable = [ids[step.at % Math.max(1, ids.length)] ?? ''];
          return;
        }
        case 'access':
          if (step.method === null) sandbox.access.set(step.state);
          else sandbox.access.setMethod(step.method, step.state);
          return;
        case 'put-right':
          this.putRight();
      }
    },
    putRight() {
      sandbox.faults.clear();
      readings.unrenderable = defaultReadings.unrenderable;
      sandbox.access.set('active');
      for (const method of LISTS) sandbox.access.setMethod(method, 'active');
    },
  };
}
