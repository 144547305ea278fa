import type { Equipment, Resource, Sandbox } from '../../src/sandbox/index.ts';
import { SPECIMENS } from './specimens.ts';

interface Canaries {
  /** In every protected value. */
  readonly mark: string;
  readonly userId?: string;
  readonly updatedOn: number;
  /** Further values of the first follow-up, of its first message, and of the equipment. */
  readonly followup?: object;
  readonly message?: object;
  readonly equipment?: object;
}

/** Everything that is protected of a record, in odd forms too, and records that cannot be stored. */
export function putProtected({ store }: Sandbox, { mark, userId = '10001', updatedOn, ...also }: Canaries) {
  store.users.put({ id: userId, name: `${mark} Name` });
  const resource = SPECIMENS.resources.build('r') as unknown as Resource;
  store.resources.put({
    ...resource,
    tags: [`${mark} tag`, 'plain'],
    versions: [{ ...resource.versions[0], description: `${mark} text` }],
  });
  const followup = { ...SPECIMENS.followups.build('one'), updated_on: updatedOn };
  store.followups.put({
    ...followup,
    messages: [
      {
        id: 'm1',
        date: 5,
        m_user_id: userId,
        note: `${mark} note`,
        signature: { name: `${mark} signature` },
        attachments: [{ key: 'k', caption: `${mark} caption` }, `${mark} no attachment`],
        ...also.message,
      },
      `${mark} no message`,
      { date: 6, note: `${mark} without id` },
      { id: 'm2', note: { deep: `${mark} deep` }, attachments: { caption: `${mark} no list` } },
    ],
    ...also.followup,
  });
  store.followups.put({ ...followup, id: 'two', messages: `${mark} text for list` });
  store.equipment.put({
    ...(SPECIMENS.equipments.build('e') as unknown as Equipment),
    serialNumber: `${mark} serial`,
    notes: `${mark} notes`,
    metavalues: { m1: `${mark} meta`, m2: 7, m3: { odd: `${mark} odd` } },
    ...also.equipment,
  });
}
