/** The sandbox's equipment types. */
import { equipmentTypes } from '../../src/sandbox/generate/equipment-types.ts';

export const [CRANES = '', HARNESSES = '', EXTINGUISHERS = '', DETECTORS = ''] = equipmentTypes.map(
  ({ id }) => id,
);
