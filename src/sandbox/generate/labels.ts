/** Names for the ids that the sandbox sends without names, as users of the service know them. */
import { trainings } from './employees.ts';
import { equipmentTypes } from './equipment-types.ts';
import { categories, clients, fieldOffices, forms, items, lineOfBusinesses, regions } from './vocabulary.ts';

interface SandboxLabel {
  readonly kind: string;
  readonly id: string;
  readonly label: string;
  readonly parentId: string | null;
}

type Named = readonly [id: string | number, label: string, parentId?: string];

export function sandboxLabels(): SandboxLabel[] {
  const byKind: readonly (readonly [kind: string, named: readonly Named[]])[] = [
    ['form', forms.map(({ id, name }) => [id, name])],
    ['training', trainings.map(({ id, name }) => [id, name])],
    ['equipment_type', equipmentTypes.map(({ id, name }) => [id, name])],
    ['schedule', equipmentTypes.flatMap(({ schedules }) => schedules).map(({ id, name }) => [id, name])],
    ['category', categories],
    ['field_office', [...regions, ...fieldOffices]],
    ['client', clients],
    ['line_of_business', lineOfBusinesses],
    ['metafield', equipmentTypes.flatMap(({ metafields }) => metafields).map(({ id, name }) => [id, name])],
    ['metafield_item', items],
  ];
  return byKind.flatMap(([kind, named]) =>
    named.map(([id, label, parentId = null]) => ({ kind, id: String(id), label, parentId })),
  );
}
