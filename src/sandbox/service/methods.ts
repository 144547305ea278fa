import type { Method } from './method.ts';
import { equipmentsList } from './methods/equipments-list.ts';
import { followupsList } from './methods/followups-list.ts';
import { resourcesList } from './methods/resources-list.ts';
import { trainingEmployeeStatusList } from './methods/training-employee-status-list.ts';
import { usersInfo } from './methods/users-info.ts';
import type { Readings } from './readings.ts';

/** All methods of the service, by the name in their path. */
const methods: ReadonlyMap<string, Method> = new Map([
  ['resources.list', resourcesList],
  ['followups.list', followupsList],
  ['training-employee-status.list', trainingEmployeeStatusList],
  ['equipments.list', equipmentsList],
  ['users.info', usersInfo],
]);

export function findMethod(name: string, readings: Readings): Method | undefined {
  if (name === 'users.info' && readings.usersInfo === 'not-offered') return undefined;
  return methods.get(name);
}
