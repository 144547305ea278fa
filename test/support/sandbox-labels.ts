/** Labels for ids of the sandbox, as a user of the service writes them: names, and regions above the field offices. */
import { trainings } from '../../src/sandbox/generate/employees.ts';
import { equipmentTypes } from '../../src/sandbox/generate/equipment-types.ts';
import {
  clients,
  dataLists,
  fieldOffices,
  forms,
  lineOfBusinesses,
} from '../../src/sandbox/generate/vocabulary.ts';

interface SandboxLabel {
  readonly kind: string;
  readonly id: string;
  readonly label: string;
  readonly parentId: string | null;
}

type Named = readonly [id: string | number, label: string, parentId?: string];

/** The first one is the parent of two others. */
const REGIONS: readonly Named[] = [
  ['europe', 'Europe'],
  ['north_sea', 'North Sea', 'europe'],
  ['continent', 'Continental Europe', 'europe'],
  ['americas', 'Americas'],
  ['asia_pacific', 'Asia Pacific'],
];

/** By field office. */
const REGION_OF: Readonly<Record<string, string>> = {
  ...{ 410: 'north_sea', 411: 'north_sea', 412: 'continent', 413: 'americas', 414: 'americas' },
  ...{ 415: 'asia_pacific', fo_gdansk: 'continent', 417: 'asia_pacific' },
};

export function sandboxLabels(): SandboxLabel[] {
  const byKind: readonly (readonly [kind: string, named: readonly Named[]])[] = [
    ['form', forms.map(({ id, name }) => [id, name])],
    ['training', trainings.map(({ id, name }) => [id, name])],
    ['equipment_type', equipmentTypes.map(({ id, name }) => [id, name])],
    ['schedule', equipmentTypes.flatMap(({ schedules }) => schedules).map(({ id, name }) => [id, name])],
    ['field_office', [...REGIONS, ...fieldOffices.map(([id, name]) => [id, name, REGION_OF[id]] as Named)]],
    ['client', clients],
    ['line_of_business', lineOfBusinesses],
    ['metafield', equipmentTypes.flatMap(({ metafields }) => metafields).map(({ id, name }) => [id, name])],
    ['metafield_item', dataLists.flatMap(([, , items]) => items)],
  ];
  return byKind.flatMap(([kind, named]) =>
    named.map(([id, label, parentId = null]) => ({ kind, id: String(id), label, parentId })),
  );
}
