import { equipmentFields } from '../../records.ts';
import { unaskedPagingRules, withUnaskedPaging } from '../paging.ts';
import { aBoolean, aText, type Checked, eachOf, type Method, oneOf } from '../method.ts';

const rules = {
  equipmentType_id: aText,
  service_type: oneOf('in', 'out', 'all'),
  columns: eachOf(equipmentFields),
  include_null_metavalues: aBoolean,
};

export const equipmentsList: Method = {
  rules: (readings) => ({ ...rules, ...unaskedPagingRules(readings.equipmentsPaging) }),
  required: ['equipmentType_id'],
  respond(parameters, { store, readings }) {
    const asked = parameters as Checked<typeof rules>;
    const { equipmentType_id: type = '', service_type: service = 'in' } = asked;
    const matching = [...store.equipment.values()].filter(
      ({ equipmentType_id: own, isInService }) =>
        own === type && (service === 'all' || (isInService as unknown) === (service === 'in')),
    );
    const { records, fields } = withUnaskedPaging(matching, parameters, readings.equipmentsPaging, readings);
    const empty = Object.fromEntries(store.metafieldIds(type).map((id) => [id, 'NULL']));
    const shape = (record: object): object => {
      const full = asked.include_null_metavalues === true ? withEmptyMetavalues(record, empty) : record;
      return asked.columns === undefined ? full : withColumns(full, asked.columns);
    };
    return { fields, list: { name: 'equipments', kind: 'equipment', records, shape } };
  },
};

function withEmptyMetavalues(record: object, empty: object): object {
  const { metavalues } = record as { metavalues?: unknown };
  if (typeof metavalues !== 'object' || metavalues === null) return record;
  return { ...record, metavalues: { ...empty, ...metavalues } };
}

function withColumns(record: object, columns: readonly string[]): object {
  return Object.fromEntries(Object.entries(record).filter(([field]) => columns.includes(field)));
}
