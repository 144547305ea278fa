/** The service's records, as observed; times of follow-ups are numbers here and text when sent. */

export interface Resource {
  id: string;
  title: string;
  created: number;
  sequence: number;
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
  /** null for links. */
  file: string | null;
  /** Only for files. */
  size?: number;
  /** Only for links. */
  link?: string;
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
  deleted: boolean;
  in_progress: boolean;
  field_id: string;
  /** The number that people see; sent if it is asked for. */
  followup_display_id: string;
}

export interface FollowupMessage {
  id: string;
  date: number;
  m_user_id: string;
  note: string | null;
  m_reassignee_id?: string | null;
  signature?: object | null;
  attachments?: Attachment[];
  notify?: boolean;
}

export interface Attachment {
  key: string;
  caption?: string;
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
  parent_id?: string;
  fieldOffice_id: string[];
  lineOfBusiness_id: string;
  clients_id?: string[];
  assignedUsers_id: string[];
  assignedUser_id?: string;
  projects: { id: number; name: string }[];
  title?: string;
  notes: string;
  isInService: boolean;
  metavalues: Record<string, Metavalue>;
  /** Both absent for equipment without inspections. */
  status?: string;
  schedules?: Schedule[];
}

export type Metavalue = number | string | { item_ids: number[] };

export interface Schedule {
  schedule_id: string;
  status: string;
  expiresOn: number | null;
  expiringOn: number | null;
  lastCompletedOn: number | null;
}

/** As observed: names in two fields; only the first block is always sent. Times are ms since 1970. */
export interface User {
  id: string;
  firstname: string;
  lastname: string;
  employeeNumber: string;
  email: string;
  username: string;
  role_id: string;
  created: number;
  fieldOffice_id: string[];
  lineOfBusiness_id: string[];
  clients_id: string[];
  projects_id: string[];
  isDriver: boolean;
  isRegulatedDriver: boolean;

  jobTitle_id?: string;
  supervisor_id?: string;
  manager_id?: string;
  hireDate?: number;
  terminationDate?: number;
  lastWebAccess?: number;
  lastMobileAccess?: number;
  cellPhone?: string;
  emergencyContact?: string;
  metavalues?: Record<string, Metavalue>;
  creator_id?: object;
}

export interface CompletedTraining {
  id: number;
  training_id: number;
  m_user_id: string;
  created: number;
  date_number: number;
  /** Only where it is not that of the training's rule. */
  special_expiration_date_number?: number;
  m_instructor_id?: string;
  group_training_id?: number;
  notes?: string;
  signature: object | null;
  files: Attachment[];
}
