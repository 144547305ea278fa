/** The meaning of everything in the two schemas. Each stream describes its own tables, and this folder describes the others. */
import { describeControl } from './control.ts';
import type { Descriptions } from './description.ts';
import { describeReporting } from './reporting.ts';

type Dictionary = Readonly<Record<'safety' | 'safety_sync', Descriptions>>;

export function dictionaryOf(
  streams: readonly { readonly name: string; readonly descriptions: Descriptions }[],
): Dictionary {
  const names = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(streams.map(({ name }) => name));
  const stream = `Stream: ${names}.`;
  const tables = streams.map(({ descriptions }) => descriptions);
  return {
    safety: Object.assign({}, ...tables, describeReporting(stream)) as Descriptions,
    safety_sync: describeControl(stream),
  };
}
