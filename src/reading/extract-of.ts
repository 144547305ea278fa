/** Which extract step reads a stream. */
import type { StreamDefinition } from '../streams/stream.ts';
import type { RunKind } from '../database/control-tables.ts';
import type { Extract } from './extract.ts';
import { extractCalculation } from './cached-report.ts';
import { extractIncremental } from './incremental.ts';
import { extractLookup } from './lookup.ts';
import { extractAccountSnapshot, extractEquipmentTypes } from './snapshot.ts';

export function extractOf({ reading }: StreamDefinition): Extract {
  switch (reading.kind) {
    case 'snapshot':
      return reading.scope === 'account' ? extractAccountSnapshot : extractEquipmentTypes;
    case 'calculation':
      return extractCalculation;
    case 'incremental':
      return extractIncremental;
    case 'lookup':
      return extractLookup;
  }
}

/** Deletions can only be drawn where everything that there is was seen. */
export function tracksSeen({ reading }: StreamDefinition, kind: RunKind): boolean {
  switch (reading.kind) {
    case 'snapshot':
    case 'calculation':
      return true;
    case 'incremental':
      return kind === 'reconcile';
    case 'lookup':
      return false;
  }
}
