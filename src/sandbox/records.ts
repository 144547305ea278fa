/** The service's records as sent ("Resources and their fields"). */

export interface Resource {
  id: string;
  title: string;
  created: number;
  sequence: number;
  category_id: string;
  tags: string[];
  shouldBeAvailableOffline: boolean;
  versions: ResourceVersion[];
}

export interface ResourceVersion {
  creator_id: string;
  created: number;
  approvedOn?: number;
  version: string;
  description: string;
  type: string;
  file: string | null;
  link: string;
}

export interface Followup {
  id: string;
  form_id: number;
  response_id: number;
  open: boolean;
  created_on: number;
  updated_on: number;
  m_observer_id: string;
  m_assigner_id: string;
  m_assignee_id: string;
  due?: number;
  resolved_on?: number;
  m_completer_id?: string;
  messages: FollowupMessage[];
}

export interface FollowupMessage {
  id: string;
  date: number;
  m_user_id: string;
  note: string;
  m_reassignee_id?: string;
  signature?: null;
  attachments?: Attachment[];
  notify?: boolean;
}

export interface Attachment {
  key: string;
  caption: string;
}

/** Stored with every completion; the service omits fields that a request does not include. */
export interface Employee {
  status: string;
  m_user_id: string;
  percent_complete: number;
  incomplete_training_ids: number[];
  complete_training_ids: number[];
  last_completed: Completion[];
}

export interface Completion {
  id: number;
  date_number: number;
  expiresOn: number | null;
  startsExpiringOn: number | null;
  is_required?: boolean;
}

export interface Equipment {
  id: string;
  serialNumber: string;
  equipmentType_id: string;
  created: number;
  parent_id: string;
  fieldOffice_id: string[];
  lineOfBusiness_id: string;
  clients_id?: string[];
  assignedUsers_id: string[];
  title?: string;
  notes: string;
  isInService: boolean;
  metavalues: Record<string, Metavalue>;
  status: string;
  schedules: Schedule[];
}

/** "The list of valid column names: not shown": here, every field of an equipment. */
// prettier-ignore
export const equipmentFields = [
  'id', 'serialNumber', 'equipmentType_id', 'created', 'parent_id', 'fieldOffice_id', 'lineOfBusiness_id', 'clients_id',
  'assignedUsers_id', 'title', 'notes', 'isInService', 'metavalues', 'status', 'schedules',
] as const satisfies readonly (keyof Equipment)[];

export type Metavalue = number | string | { item_ids: number[] };

export interface Schedule {
  schedule_id: string;
  status: string;
  expiresOn: number | null;
  expiringOn: number | null;
  lastCompletedOn: number | null;
}

export interface User {
  id: string;
  name: string;
}
