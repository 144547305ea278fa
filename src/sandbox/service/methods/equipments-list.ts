import { type Equipment, equipmentFields } from '../../records.ts';
import type { Method } from '../method.ts';
import { unaskedPagingRules, withUnaskedPaging } from '../paging.ts';
import { aBoolean, aText, eachOf, oneOf, required } from '../parameters.ts';
import { ServiceError } from '../service-error.ts';

interface EquipmentParameters {
  equipmentType_id: string;
  service_type?: 'in' | 'out' | 'all';
  columns?: string[];
  include_null_metavalues?: boolean;
}

export const equipmentsList: Method = {
  rules: (readings) => ({
    equipmentType_id: required(aText),
    service_type: oneOf('in', 'out', 'all'),
    columns: eachOf(equipmentFields),
    include_null_metavalues: aBoolean,
    ...unaskedPagingRules(readings.equipmentsPaging),
  }),
  respond(parameters, { store, readings }) {
    const asked = parameters as unknown as EquipmentParameters;
    const metafields = store.metafields.get(asked.equipmentType_id);
    if (metafields === undefined && readings.unknownEquipmentType !== 'empty') {
      throw new ServiceError(
        readings.unknownEquipmentType,
        `no equipment type has the id ${asked.equipmentType_id}`,
      );
    }
    const service = asked.service_type ?? 'in';
    const matching: Equipment[] = [];
    for (const equipment of store.equipment.values()) {
      if (equipment.equipmentType_id !== asked.equipmentType_id) continue;
      if (service === 'all' || (equipment.isInService as unknown) === (service === 'in'))
        matching.push(equipment);
    }
    const { records, fields } = withUnaskedPaging(matching, parameters, readings.equipmentsPaging, readings);
    const empty = Object.fromEntries((metafields ?? []).map((id) => [id, readings.emptyMetavalue]));
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
