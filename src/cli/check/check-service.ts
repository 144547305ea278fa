/** Requests the methods of the service once. */
import type { ApiClient } from '../../engine/api/client.ts';
import { createRequestMeter, type ListPage } from '../../engine/api/requests.ts';
import { readOptionalMethods, writeOptionalMethods } from '../../engine/control-tables/optional-methods.ts';
import type { Queryable } from '../../engine/database/connection.ts';
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

/** One line of the output, with the next step where one is needed, and the code of an error. */
export type Say = (
  result: 'ok' | 'failed' | 'skipped',
  what: string,
  finding: string,
  advice?: string | null,
  code?: ErrorCode,
) => void;

/** How many records of a stream the service should have; undefined: they were not read yet. */
export type RowsOf = (stream: StreamName) => number | undefined;

interface CheckServiceOptions {
  readonly api: ApiClient;
  readonly accountId: string;
  readonly equipmentTypes: readonly string[];
  readonly signal: AbortSignal;
  readonly say: Say;
  /** undefined: no migrated warehouse, so there is no budget to share with other processes. */
  readonly warehouse: { readonly db: Queryable; readonly rowsOf: RowsOf } | undefined;
}

interface Asked {
  readonly method: string;
  readonly listKey?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly what?: string;
  /** Its records are those of this stream. */
  readonly stream?: StreamName | undefined;
  /** A service without the method is well. */
  readonly isOptional?: boolean;
}

const MOST_WITHOUT_WAREHOUSE = 10;
const NAMED_TYPES = 5;
const DIFFERENCE_ADVICE =
  'What changed since the last sync can be the reason, or records that could not be stored (safety-sync data-issues). If it stays after a sync: safety-sync reconcile';

const totalOf = ({ paging, records }: ListPage): number => paging?.total ?? records.length;

export async function checkService(options: CheckServiceOptions): Promise<void> {
  const { api, accountId, equipmentTypes, signal, say, warehouse } = options;
  const meter = createRequestMeter();
  const states: MethodStates = warehouse ? await readOptionalMethods(warehouse.db, accountId) : new Map();
  /** Further requests are useless. */
  let isOver = false;
  /** What the first sync will read. */
  const ahead: string[] = [];

  async function remember(method: string, code: string | null): Promise<void> {
    const result = { method, code, ...(code === null ? { isStored: false as const } : {}) };
    if (warehouse !== undefined)
      await writeOptionalMethods(warehouse.db, { accountId, now: 'now' }, [result]);
  }

  /** A difference is no failure: the source may have changed since the last sync. */
  function sayTotal(what: string, page: ListPage, stream: StreamName | undefined): void {
    const total = totalOf(page);
    const responds = `responds, ${formatNumber(total, 'record')}`;
    const rows = stream === undefined ? undefined : warehouse?.rowsOf(stream);
    if (rows === undefined) say('ok', what, responds);
    else if (rows === total) say('ok', what, `${responds}, as many as the warehouse has`);
    else say('skipped', what, `${responds}, and the warehouse has ${formatCount(rows)}`, DIFFERENCE_ADVICE);
  }

  /** undefined: no usable response. */
  async function ask({
    method,
    listKey,
    params = {},
    stream,
    ...asked
  }: Asked): Promise<ListPage | undefined> {
    const { what = `service: ${method}`, isOptional = false } = asked;
    if (isOver) return undefined;
    const known = states.get(method);
    if (isOptional && isLeftAlone(known)) {
      say('skipped', what, `not offered (${known?.code ?? ''})`);
      return undefined;
    }
    try {
      const comesWhole = params['limit'] === undefined;
      const page = await api.page({ method, ...(listKey && { listKey }), params, comesWhole, meter, signal });
      if (isOptional) await remember(method, null);
      const isWhole = comesWhole || page.paging?.total !== undefined;
      if (listKey === undefined) say('ok', what, 'responds');
      else sayTotal(what, page, isWhole ? stream : undefined);
      return page;
    } catch (error) {
      if (!(error instanceof SafetySyncError)) throw error;
      const { code, recovery, advice, requestId } = error;
      if (isOptional && isNotOffered(code)) {
        await remember(method, code);
        say('skipped', what, `not offered (${code})`);
        return undefined;
      }
      // Another method may be allowed.
      isOver =
        (recovery === 'fail_run' && code !== 'token_permission') ||
        ['network_error', 'rate_limit_exceeded'].includes(code);
      // The line already begins with the method.
      const message = error.message.replace(/^[\w.-]+\.(list|info): /, '');
      const request = requestId === undefined ? '' : ` [request ${requestId}]`;
      say('failed', what, message + request, advice, code);
      return undefined;
    }
  }

  /** Compares the configured types with the list. Returns whether there is a list. */
  async function askForTypes(): Promise<boolean> {
    const page = await ask({ method: 'equipmenttypes.list', listKey: 'equipmenttypes', isOptional: true });
    if (page === undefined || page.records.length === 0) return false;
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
  async function askByType({ method, responseKey: listKey }: StreamDefinition): Promise<void> {
    const what = `service: ${method}`;
    const none = 'no equipment types are configured: equipment is not synced';
    if (equipmentTypes.length > 0) ahead.push(`equipment of ${formatNumber(equipmentTypes.length, 'type')}`);
    else if (!isOver) say('skipped', what, none, 'Set SAFETY_EQUIPMENT_TYPES.');
    const most = warehouse === undefined ? Math.max(0, MOST_WITHOUT_WAREHOUSE - meter.requests) : Infinity;
    const asked = equipmentTypes.slice(0, most);
    for (const type of asked) {
      const params = { equipmentType_id: type, service_type: 'all' };
      const ofType = `${what} ${type}`;
      const page = await ask({ method, listKey, params, what: ofType });
      if (page?.records.length === 0)
        say('skipped', ofType, 'a service may respond so to an id that it does not know', 'Check the id.');
    }
    const left = formatNumber(equipmentTypes.length - asked.length, 'more type');
    if (asked.length < equipmentTypes.length)
      say('skipped', what, `${left} not asked: at most ${MOST_WITHOUT_WAREHOUSE} requests`);
  }

  /** Lists of names, once a day, because some of them are large. */
  async function askForNames(method: OptionalListName): Promise<void> {
    if (isOver) return;
    const { code, askedAgoMs = Infinity } = states.get(method) ?? {};
    const { listKey, pageSize } = listOf(method);
    const stream = STREAMS.find((one) => one.method === method && one.readMode.kind === 'newest_first')?.name;
    const params = pageSize === undefined ? {} : { limit: 1 };
    if (code !== null || askedAgoMs >= DAY_MS || stream !== undefined)
      await ask({ method, listKey, params, stream, isOptional: true });
    else say('ok', `service: ${method}`, `responded ${formatDuration(askedAgoMs)} ago`);
  }

  const byType: StreamDefinition[] = [];
  for (const one of STREAMS) {
    const { name, method, responseKey: listKey, readMode, optionalMethods } = one;
    if (optionalMethods?.some((optional) => optional === method)) continue;
    const isPaged = 'pageSize' in readMode;
    if (readMode.kind === 'snapshot' && readMode.per !== 'account') byType.push(one);
    else if (isPaged || readMode.kind === 'snapshot') {
      const page = await ask({ method, listKey, params: isPaged ? { limit: 1 } : {}, stream: name });
      if (page !== undefined) ahead.push(`${formatNumber(totalOf(page), 'record')} of ${method}`);
    }
  }
  // With a warehouse the account's source was asked for it.
  if (warehouse === undefined) await ask({ method: 'account.info', isOptional: true });
  if (!(await askForTypes())) for (const stream of byType) await askByType(stream);
  if (warehouse === undefined) {
    if (ahead.length > 0) say('ok', 'first sync', `will read ${ahead.join(', ')}`);
    return;
  }
  for (const method of Object.keys(OPTIONAL_LISTS) as OptionalListName[]) {
    // The data lists of items are many.
    if (method !== 'equipmenttypes.list' && !method.startsWith('datalist')) await askForNames(method);
  }
}
