/** Requests the methods of the service once. */
import type { AccountConfig } from '../../config/account-config.ts';
import type { ApiClient } from '../../engine/api/client.ts';
import { type ApiRequest, createRequestMeter, type ListPage } from '../../engine/api/requests.ts';
import { readOptionalMethods, writeOptionalMethods } from '../../engine/control-tables/optional-methods.ts';
import type { Database } from '../../engine/database/connection.ts';
import { type ErrorCode, SafetySyncError } from '../../shared/errors.ts';
import { formatCount, formatDuration, formatNumber, nameSome } from '../../shared/format.ts';
import { DAY_MS } from '../../shared/time.ts';
import {
  isLeftAlone,
  isNotOffered,
  listOf,
  type MethodStates,
  OPTIONAL_LISTS,
  type OptionalListName,
} from '../../engine/streams/optional-methods.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import type { StreamDefinition, StreamName } from '../../engine/streams/stream.ts';
import { isWireRecord } from '../../engine/streams/wire.ts';
import { errorText } from '../run-results.ts';

/** One line of the output, with the next step where one is needed, and the code of an error. */
export type Say = (
  result: 'ok' | 'failed' | 'skipped',
  what: string,
  finding: string,
  advice?: string | null,
  code?: ErrorCode,
) => void;

export interface CheckServiceOptions {
  readonly api: ApiClient;
  readonly account: AccountConfig;
  readonly signal: AbortSignal;
  readonly say: Say;
  /**
   * `rows`: how many records of each stream the service should have, of those that were read. undefined: no migrated
   * warehouse, so there is no budget to share with other processes.
   */
  readonly warehouse: { readonly db: Database; readonly rows: ReadonlyMap<StreamName, number> } | undefined;
}

interface Asked extends Pick<ApiRequest, 'method' | 'listKey' | 'params'> {
  readonly what?: string;
  /** Its records are those of this stream. */
  readonly stream?: StreamName | undefined;
}

const MOST_WITHOUT_WAREHOUSE = 10;
const NAMED_TYPES = 5;
const DIFFERENCE_ADVICE =
  'What changed since the last sync can be the reason, or records that could not be stored (safety-sync data-issues). If it stays after a sync: safety-sync reconcile';
/** Where every method responds so, no such service is at the address. */
const NO_SERVICE: readonly ErrorCode[] = ['api_method_not_found', 'response_not_json', 'response_invalid'];
const NO_SERVICE_ADVICE =
  'Check SAFETY_BASE_URL, above all its path: /v1/METHOD is added to it. If it is right, something between here and the service responds in its place (a proxy, a gateway, a login page).';

const totalOf = ({ paging, records }: ListPage): number => paging?.total ?? records.length;
const comesWhole = ({ params }: Asked): boolean => params['limit'] === undefined;

export async function checkService({ api, account, signal, say, warehouse }: CheckServiceOptions) {
  const { accountId, equipmentTypes, service } = account;
  const meter = createRequestMeter();
  const states: MethodStates = warehouse ? await readOptionalMethods(warehouse.db, accountId) : new Map();
  /** Further requests are useless. */
  let isOver = false;
  /** The reads of the first sync. */
  const ahead: string[] = [];

  async function request(asked: Asked): Promise<ListPage | SafetySyncError> {
    try {
      return await api.page({ ...asked, comesWhole: comesWhole(asked), meter, signal });
    } catch (error) {
      if (!(error instanceof SafetySyncError)) throw error;
      const { code, recovery } = error;
      // Another method may be allowed.
      isOver =
        (recovery === 'fail_run' && code !== 'token_permission') ||
        ['network_error', 'rate_limit_exceeded'].includes(code);
      return error;
    }
  }

  /** Returns the page; undefined: there is none. */
  function tell(asked: Asked, answer: ListPage | SafetySyncError): ListPage | undefined {
    const { method, listKey, stream, what = `service: ${method}` } = asked;
    if (answer instanceof SafetySyncError) {
      // The line already begins with the method.
      const said = errorText(answer).replace(/^[\w.-]+\.(list|info): /, '');
      say('failed', what, said, answer.advice, answer.code);
      return undefined;
    }
    const total = totalOf(answer);
    const responds = listKey === undefined ? 'responds' : `responds, ${formatNumber(total, 'record')}`;
    const isWhole = comesWhole(asked) || answer.paging?.total !== undefined;
    const rows = isWhole ? warehouse?.rows.get(stream ?? '') : undefined;
    if (rows === undefined) say('ok', what, responds);
    else if (rows === total) say('ok', what, `${responds}, as many as the warehouse has`);
    // No failure: the source may have changed since the last sync.
    else say('skipped', what, `${responds}, and the warehouse has ${formatCount(rows)}`, DIFFERENCE_ADVICE);
    return answer;
  }

  /** A service without the method is well. null: it has failed, which is said. */
  async function askOptional(asked: Asked): Promise<ListPage | null | undefined> {
    if (isOver) return undefined;
    const { method } = asked;
    const known = states.get(method);
    const answer = isLeftAlone(known) ? undefined : await request(asked);
    const code = answer instanceof SafetySyncError ? answer.code : null;
    if (warehouse !== undefined && answer !== undefined && (code === null || isNotOffered(code)))
      await writeOptionalMethods(warehouse.db, { accountId, now: 'now' }, [
        { method, code, isStored: false },
      ]);
    if (answer !== undefined && !isNotOffered(code)) return tell(asked, answer) ?? null;
    say('skipped', `service: ${method}`, `not offered (${code ?? known?.code ?? ''})`);
    return undefined;
  }

  /** The lists that every service has. Returns whether the service is there. */
  async function askRequired(): Promise<boolean> {
    const answers: (readonly [Asked, ListPage | SafetySyncError])[] = [];
    for (const { name: stream, method, responseKey: listKey, readMode, optionalMethods } of STREAMS) {
      if (isOver || optionalMethods !== undefined) continue;
      const asked = { method, listKey, params: 'pageSize' in readMode ? { limit: 1 } : {}, stream };
      answers.push([asked, await request(asked)]);
    }
    const errors = answers.map(([, answer]) => (answer instanceof SafetySyncError ? answer : undefined));
    const [first] = errors;
    if (first !== undefined && errors.every((error) => error && NO_SERVICE.includes(error.code))) {
      const where = `no method responds as it should at ${service?.baseUrl ?? ''}/v1/`;
      say('failed', 'service', `${where}. The first: ${errorText(first)}`, NO_SERVICE_ADVICE, first.code);
      return false;
    }
    for (const [asked, answer] of answers) {
      const page = tell(asked, answer);
      if (page !== undefined) ahead.push(`${formatNumber(totalOf(page), 'record')} of ${asked.method}`);
    }
    return true;
  }

  /** Compares the configured types with the list. Returns whether there is a list, or nothing to ask without it. */
  async function askForTypes(): Promise<boolean> {
    const page = await askOptional({ method: 'equipmenttypes.list', listKey: 'equipmenttypes', params: {} });
    if (page === null && equipmentTypes.length === 0) return true;
    if (page == null || page.records.length === 0) return false;
    const types = page.records.map((one) => one.parse());
    const known = new Set(types.map((type) => (isWireRecord(type) ? String(type['id']) : '')));
    const lacking = equipmentTypes.filter((id) => !known.has(id));
    ahead.push(`equipment of ${formatNumber(equipmentTypes.length || known.size, 'type')}`);
    if (lacking.length > 0) {
      const finding = `the list of the service lacks ${nameSome(lacking, NAMED_TYPES)}`;
      say('skipped', 'equipment types', finding, 'Correct SAFETY_EQUIPMENT_TYPES.');
    }
    return true;
  }

  /** Where the service has no list of types. */
  async function askByType({ name, method, responseKey: listKey }: StreamDefinition): Promise<void> {
    const what = `service: ${method}`;
    const synced =
      (warehouse?.rows.get(name) ?? 0) > 0 ? 'the types stored last are synced' : 'equipment is not synced';
    const none = `no equipment types are configured: ${synced}`;
    if (equipmentTypes.length > 0) ahead.push(`equipment of ${formatNumber(equipmentTypes.length, 'type')}`);
    else if (!isOver) say('skipped', what, none, 'Set SAFETY_EQUIPMENT_TYPES.');
    const most = warehouse === undefined ? Math.max(0, MOST_WITHOUT_WAREHOUSE - meter.requests) : Infinity;
    const asked = equipmentTypes.slice(0, most);
    for (const type of asked) {
      if (isOver) return;
      const ofType = `${what} ${type}`;
      const params = { equipmentType_id: type, service_type: 'all' };
      const one = { method, listKey, params, what: ofType };
      const page = tell(one, await request(one));
      if (page?.records.length === 0)
        say('skipped', ofType, 'a service may respond so to an id that it does not know', 'Check the id.');
    }
    const left = formatNumber(equipmentTypes.length - asked.length, 'more type');
    if (asked.length < equipmentTypes.length)
      say('skipped', what, `${left} not asked: at most ${MOST_WITHOUT_WAREHOUSE} requests`);
  }

  /** Lists of names, once a day, because some of them are large. */
  async function askForNames(): Promise<void> {
    for (const method of Object.keys(OPTIONAL_LISTS) as OptionalListName[]) {
      // The types were asked for, and the data lists of items are many.
      if (isOver || method === 'equipmenttypes.list' || method.startsWith('datalist')) continue;
      const { code, askedAgoMs = Infinity } = states.get(method) ?? {};
      const { listKey, pageSize } = listOf(method);
      const stream = STREAMS.find((one) => one.method === method && one.readMode.kind === 'newest_first');
      const params = pageSize === undefined ? {} : { limit: 1 };
      if (code !== null || askedAgoMs >= DAY_MS || stream !== undefined)
        await askOptional({ method, listKey, params, stream: stream?.name });
      else say('ok', `service: ${method}`, `responded ${formatDuration(askedAgoMs)} ago`);
    }
  }

  if (!(await askRequired())) return;
  // With a warehouse the account's source was asked for it.
  if (warehouse === undefined) await askOptional({ method: 'account.info', params: {} });
  if (!(await askForTypes())) {
    for (const stream of STREAMS.filter(({ partitionedBy }) => partitionedBy !== undefined))
      await askByType(stream);
  }
  if (ahead.length > 0 && (warehouse?.rows.size ?? 0) === 0)
    say('ok', 'first sync', `will read ${ahead.join(', ')}`);
  if (warehouse !== undefined) await askForNames();
}
