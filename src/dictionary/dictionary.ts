/** The meaning of everything in the two schemas. Each stream describes its own tables, and this folder describes the others. */
import { CONTROL } from './control.ts';
import type { Descriptions } from './description.ts';
import { REPORTING } from './reporting.ts';

export const dictionaryOf = (
  streams: readonly { readonly descriptions: Descriptions }[],
): Readonly<Record<'safety' | 'safety_sync', Descriptions>> => ({
  safety: Object.assign({}, ...streams.map(({ descriptions }) => descriptions), REPORTING) as Descriptions,
  safety_sync: CONTROL,
});
