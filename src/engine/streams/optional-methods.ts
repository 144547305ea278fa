/**
 * The methods that are used where the service has them. Those with a whole list return everything at once; the kinds of ids
 * that a list names are the kinds of `safety.names`.
 */
import type { ErrorCode } from '../../shared/errors.ts';
import { DAY_MS, HOUR_MS } from '../../shared/time.ts';

/** How a list names ids of one kind. */
export interface Naming {
  /** The field with the name. */
  readonly name: 'name' | 'title';
  readonly code?: string;
  readonly parent?: string;
  /** The field that says whether it is in use, and the value that means so. */
  readonly active?: readonly [field: string, value: boolean];
}

interface OptionalList {
  readonly listKey: string;
  /** The list has pages of at most so many records. */
  readonly pageSize?: number;
  /** By kind. */
  readonly names?: Readonly<Record<string, Naming>>;
  /** Lists inside of a record, by field: their kinds have the record's id as parent. */
  readonly inner?: Readonly<Record<string, string>>;
}

/** Says which account of the service the token belongs to. */
export const IDENTITY_METHOD = 'account.info';

export const OPTIONAL_LISTS = {
  'users.list': { listKey: 'users' },
  'equipmenttypes.list': {
    listKey: 'equipmenttypes',
    names: { equipment_type: { name: 'title' }, metafield: { name: 'name' }, schedule: { name: 'name' } },
    inner: { metafields: 'metafield', schedules: 'schedule' },
  },
  'trainings.v2.list': { listKey: 'trainings', names: { training: { name: 'title' } } },
  'completedtrainings.v2.list': { listKey: 'completedtrainings', pageSize: 1000 },
  'forms.list': {
    listKey: 'forms',
    names: { form: { name: 'name', parent: 'folder_id', active: ['hidden', false] } },
  },
  'fieldoffices.list': {
    listKey: 'fieldoffices',
    names: { field_office: { name: 'name', code: 'code', active: ['inactive', false] } },
  },
  'linesofbusiness.list': {
    listKey: 'linesofbusiness',
    names: { line_of_business: { name: 'name', code: 'code' } },
  },
  'companies.list': { listKey: 'companies', names: { client: { name: 'name' } } },
  'jobtitles.list': { listKey: 'jobtitles', names: { job_title: { name: 'title' } } },
  'roles.list': { listKey: 'roles', names: { role: { name: 'name' } } },
  'projects.list': {
    listKey: 'projects',
    pageSize: 500,
    names: { project: { name: 'name', code: 'number', active: ['active', true] } },
  },
  'datalists.list': { listKey: 'datalists' },
  'datalistitems.list': { listKey: 'datalistitems', names: { metafield_item: { name: 'title' } } },
} as const satisfies Readonly<Record<string, OptionalList>>;

export type OptionalListName = keyof typeof OPTIONAL_LISTS;
export const listOf = (method: OptionalListName): OptionalList => OPTIONAL_LISTS[method];

/** The lists that name ids. */
export const NAMING_LISTS = (Object.keys(OPTIONAL_LISTS) as OptionalListName[]).filter(
  (method) => listOf(method).names !== undefined,
);
export const kindsOf = (method: OptionalListName): readonly string[] =>
  Object.keys(listOf(method).names ?? {});
export type OptionalMethod = OptionalListName | 'users.info' | 'account.info';

/** By these the service says that it does not offer a method to this token. */
export const NOT_OFFERED: ReadonlySet<string> = new Set<ErrorCode>([
  'api_method_not_found',
  'token_permission',
  'parameter_unexpected',
]);
export const isNotOffered = (code: string | null | undefined): boolean => NOT_OFFERED.has(code ?? '');

/** The remembered result of an optional method. Ages by the database's clock. */
export interface MethodState {
  readonly askedAgoMs: number;
  /** null: it was never read. */
  readonly readAgoMs: number | null;
  /** The error of the last request; null: it was answered. */
  readonly code: string | null;
  /** Ids of its kinds that were met, and had no name, when it was last read: `kind:id`; null: none are remembered. */
  readonly unnamed: readonly string[] | null;
  /** users.info: the parameter that worked; null: none did yet. */
  readonly form: UserForm | null;
}

/** The parameter of users.info with the id of the person. */
export type UserForm = 'id' | 'user';

export type MethodStates = ReadonlyMap<string, MethodState>;

/** The end of one request for an optional method. */
export interface MethodResult {
  readonly method: string;
  /** null: it was answered. */
  readonly code: string | null;
  /** False: what was answered is not stored. */
  readonly isStored?: false;
  readonly unnamed?: readonly string[];
  readonly form?: UserForm | null;
}

/** How long a method that is not offered is left alone. */
const NOT_OFFERED_MS = 7 * DAY_MS;

/** The service was asked a short time ago, and does not offer it. */
export const isLeftAlone = (state: MethodState | undefined): boolean =>
  state !== undefined && isNotOffered(state.code) && state.askedAgoMs < NOT_OFFERED_MS;

/** Not since the account was moved to another address, which forgets the results. */
export const wasNeverRead = (state: MethodState | undefined): boolean => (state?.readAgoMs ?? null) === null;

/**
 * Whether a list is asked now: once a day, hourly after a failure or while it may name new ids (`mayName`), and weekly where it is
 * not offered.
 */
export function isListDue(state: MethodState | undefined, mayName = false): boolean {
  if (state === undefined) return true;
  const { askedAgoMs, readAgoMs, code } = state;
  if (isNotOffered(code)) return !isLeftAlone(state);
  if (code === null && wasNeverRead(state)) return true;
  return askedAgoMs >= HOUR_MS && (code !== null || mayName || (readAgoMs ?? Infinity) >= DAY_MS);
}
