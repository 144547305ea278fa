/** The meaning of everything in the two schemas; the only place where it is written down. */
import { CONTROL } from './control.ts';
import type { Descriptions } from './description.ts';
import { EQUIPMENT } from './equipment.ts';
import { FOLLOWUPS } from './followups.ts';
import { PEOPLE } from './people.ts';
import { RESOURCES } from './resources.ts';
import { TIME } from './time.ts';
import { TRAINING } from './training.ts';

export const DICTIONARY: Readonly<Record<'safety' | 'safety_sync', Descriptions>> = {
  safety: { ...RESOURCES, ...FOLLOWUPS, ...TRAINING, ...EQUIPMENT, ...PEOPLE, ...TIME },
  safety_sync: CONTROL,
};
