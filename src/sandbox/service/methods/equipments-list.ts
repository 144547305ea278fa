import * as z from 'zod';
import type { Equipment } from '../../records.ts';
import { method, unaskedPage } from '../method.ts';

const rules = {
  equipmentType_id: z.string(),
  service_type: z.enum(['in', 'out', 'all']).optional(),
  columns: z.array(z.string()).optional(),
  include_null_metavalues: z.boolean().optional(),
};

export const equipmentsList = method(
  (readings) => ({ ...rules, ...unaskedPage.rules(readings) }),
  (asked, { store, readings }) => {
    const { equipmentType_id: type, service_type: service = 'in', columns } = asked;
    const matching = store.equipment.select(
      ({ equipmentType_id: own, isInService }) =>
        own === type && (service === 'all' || (isInService as unknown) === (service === 'in')),
    );
    const { records, fields } = unaskedPage.of(matching, asked, readings);
    const empty = Object.fromEntries(store.metafieldIds(type).map((id) => [id, 'NULL']));
    const shape = (record: Equipment): object => {
      const full = asked.include_null_metavalues === true ? withEmptyMetavalues(record, empty) : record;
      if (columns === undefined) return full;
      return Object.fromEntries(Object.entries(full).filter(([field]) => columns.includes(field)));
    };
    return { fields, list: { name: 'equipments', records: records.map(shape) } };
  },
);

function withEmptyMetavalues(record: Equipment, empty: object): object {
  const { metavalues } = record as { metavalues?: unknown };
  if (typeof metavalues !== 'object' || metavalues === null) return record;
  return { ...record, metavalues: { ...empty, ...metavalues } };
}
