/** Data for changing the source, for each stream: a missing stream is a compile error. */
import type { RecordTable } from '../../src/sandbox/index.ts';
import { NOON } from './test-clock.ts';
import type { TestWorker } from './world.ts';
import { HARNESSES } from './equipment-types.ts';

type Fields = Record<string, unknown>;

export interface Specimen {
  readonly table: string;
  readonly keyColumn: string;
  readonly keyField: string;
  records(worker: Pick<TestWorker, 'sandbox'>): RecordTable<object>;
  /** A record as the service would send it. */
  build(key: string): Fields;
  readonly text: { readonly field: string; readonly column: string };
  /** A value that its column cannot store, and one that it can. */
  readonly bad: {
    readonly field: string;
    readonly column: string;
    readonly value: unknown;
    readonly right: unknown;
  };
  /** A value outside of a documented list, and its position in the record. */
  readonly unknownValue: { readonly patch: Fields; readonly field: string; readonly value: unknown } | null;
  /** Records as the service was observed to send them, beside those of the specification. */
  observed?(key: string): readonly Fields[];
  /** Makes the next run request everything again. */
  beforeRun(worker: TestWorker): Promise<void>;
}

const nothing = (): Promise<void> => Promise.resolve();

type SpecimenName =
  'resources' | 'followups' | 'training-employee-status' | 'equipments' | 'completed-trainings' | 'users';

export const SPECIMENS: Readonly<Record<SpecimenName, Specimen>> = {
  resources: {
    table: 'resources',
    keyColumn: 'id',
    keyField: 'id',
    records: ({ sandbox }) => sandbox.store.resources,
    build: (key) => ({
      id: key,
      title: `Procedure ${key}`,
      created: NOON - 5_000,
      sequence: 900,
      category_id: '11',
      tags: ['height'],
      shouldBeAvailableOffline: true,
      versions: [
        {
          creator_id: '10001',
          created: NOON - 5_000,
          approvedOn: NOON - 4_000,
          version: '1',
          description: 'First issue',
          type: 'link',
          file: null,
          link: 'https://documents.example/1',
        },
      ],
    }),
    text: { field: 'title', column: 'title' },
    bad: { field: 'created', column: 'created_at', value: 'yesterday', right: NOON - 7_000 },
    unknownValue: {
      patch: { versions: [{ created: NOON, type: 'hologram' }] },
      field: 'versions[0].type',
      value: 'hologram',
    },
    beforeRun: nothing,
  },
  followups: {
    table: 'followups',
    keyColumn: 'id',
    keyField: 'id',
    records: ({ sandbox }) => sandbox.store.followups,
    build: (key) => ({
      id: key,
      form_id: 17,
      response_id: 990_001,
      open: true,
      created_on: NOON - 5_000,
      updated_on: NOON - 5_000,
      m_observer_id: '10001',
      m_assigner_id: '10001',
      m_assignee_id: '10002',
      messages: [{ id: `${key}-1`, date: NOON - 5_000, m_user_id: '10001', note: 'Guard rail loose' }],
    }),
    text: { field: 'm_assigner_id', column: 'assigner_id' },
    bad: { field: 'due', column: 'due_on', value: 20_261_399, right: 20_261_130 },
    unknownValue: null,
    observed: (key) => [
      {
        ...{ id: key, form_id: 17, response_id: 990_002, field_id: 'f1', followup_display_id: 1235 },
        ...{ created_on: String(NOON - 5_000), updated_on: String(NOON) },
        ...{ m_observer_id: '10001', m_assigner_id: '10001', m_assignee_id: '10002' },
        ...{ open: true, due: null, resolved_on: null, m_completer_id: null },
        ...{ deleted: false, in_progress: true },
        messages: [
          { id: 'a', date: NOON, m_user_id: '10001', note: null, m_reassignee_id: null, signature: null },
          { id: 'b', date: NOON, m_user_id: '10001', note: 'b', signature: { name: 'A. B.' }, notify: true },
          { id: 'c', date: NOON, attachments: [{ key: 'f', caption: 'c' }, { key: 'g' }] },
        ],
      },
    ],
    beforeRun: nothing,
  },
  'training-employee-status': {
    table: 'training_employee_status',
    keyColumn: 'user_id',
    keyField: 'm_user_id',
    records: ({ sandbox }) => sandbox.store.employees,
    build: (key) => ({
      status: 'active',
      m_user_id: key,
      percent_complete: 100,
      incomplete_training_ids: [],
      complete_training_ids: [301],
      last_completed: [
        { id: 301, date_number: 20_250_131, expiresOn: null, startsExpiringOn: null, is_required: true },
      ],
    }),
    text: { field: 'status', column: 'status' },
    bad: { field: 'percent_complete', column: 'percent_complete', value: 'most of it', right: 62.5 },
    unknownValue: { patch: { status: 'suspended' }, field: 'status', value: 'suspended' },
    beforeRun: ({ sandbox }) => {
      sandbox.store.recalculateTraining(sandbox.store.trainingCalculation().lastUpdated + 1);
      return nothing();
    },
  },
  equipments: {
    table: 'equipment',
    keyColumn: 'id',
    keyField: 'id',
    records: ({ sandbox }) => sandbox.store.equipment,
    build: (key) => ({
      id: key,
      serialNumber: `SN-${key}`,
      equipmentType_id: HARNESSES,
      created: NOON - 5_000,
      parent_id: '',
      fieldOffice_id: ['7'],
      lineOfBusiness_id: '3',
      assignedUsers_id: ['10001'],
      notes: '',
      isInService: true,
      metavalues: { '3201': 'XL', '3202': 2024.5, '3203': { item_ids: [901, 902] } },
      status: 'uptodate',
      schedules: [
        {
          schedule_id: '511',
          status: 'uptodate',
          expiresOn: NOON,
          expiringOn: null,
          lastCompletedOn: NOON - 9,
        },
      ],
    }),
    text: { field: 'serialNumber', column: 'serial_number' },
    bad: { field: 'created', column: 'created_at', value: { at: 'noon' }, right: NOON - 7_000 },
    unknownValue: { patch: { status: 'quarantined' }, field: 'status', value: 'quarantined' },
    beforeRun: nothing,
  },
  'completed-trainings': {
    table: 'training_records',
    keyColumn: 'id',
    keyField: 'id',
    records: ({ sandbox }) => sandbox.store.completedTrainings,
    build: (key) => ({
      id: key,
      training_id: 301,
      m_user_id: '10001',
      created: NOON - 5_000,
      date_number: 20_260_131,
      notes: 'Second attempt',
      signature: null,
      files: [],
    }),
    text: { field: 'notes', column: 'notes' },
    bad: {
      field: 'special_expiration_date_number',
      column: 'expires_on',
      value: 20_261_399,
      right: 20_261_130,
    },
    unknownValue: null,
    observed: () => [
      {
        id: 5_900_001,
        training_id: 301,
        m_user_id: '10001',
        created: NOON,
        date_number: 20_260_131,
        special_expiration_date_number: null,
        m_instructor_id: null,
        group_training_id: null,
        notes: null,
        signature: { name: 'A. B.' },
        files: [{ key: 'a' }, { key: 'b', caption: 'c' }],
      },
    ],
    beforeRun: nothing,
  },
  users: {
    table: 'users',
    keyColumn: 'id',
    keyField: 'id',
    records: ({ sandbox }) => sandbox.store.users,
    build: (key) => ({ id: key, name: `Person ${key}` }),
    text: { field: 'name', column: 'name' },
    bad: { field: 'employeeNumber', column: 'employee_number', value: { number: 7 }, right: 'E7' },
    unknownValue: null,
    observed: (key) => [
      {
        id: key,
        firstname: 'Ada',
        lastname: 'Byron',
        employeeNumber: '',
        email: 'ada@example.org',
        username: 'ada',
        role_id: '3',
        created: NOON,
        fieldOffice_id: ['7'],
        lineOfBusiness_id: [],
        clients_id: [],
        projects_id: ['41'],
        isDriver: false,
        isRegulatedDriver: false,
        terminationDate: NOON,
        hireDate: NOON,
        sseDate: NOON,
        registered_on: NOON,
        jobTitle_id: '71',
        manager_id: '10001',
        supervisor_id: '10002',
        mentor_id: '10003',
        hse_id: '10004',
        creator_id: { id: '10001', firstname: 'Jo', lastname: 'Doe' },
        cellPhone: '555-0101',
        emergencyContact: 'Jo',
        lastWebAccess: NOON,
        lastMobileAccess: NOON - 1,
        metavalues: { '9001': 'A' },
      },
    ],
    beforeRun: nothing,
  },
};

export function specimenOf(stream: string): Specimen {
  const specimen = new Map<string, Specimen>(Object.entries(SPECIMENS)).get(stream);
  if (specimen === undefined) throw new RangeError(`there is no specimen of ${stream}`);
  return specimen;
}
