/** Requests the methods of the service once. */
import type { ApiClient } from '../../engine/api/client.ts';
import { createRequestMeter, type ListPage } from '../../engine/api/requests.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatDuration, formatNumber, nameSome } from '../../shared/format.ts';
import { DAY_MS } from '../../shared/time.ts';
import {
  isLeftAlone,
  isNotOffered,
  listOf,
  type MethodResult,
  type MethodStates,
  OPTIONAL_LISTS,
  type OptionalListName,
} from '../../engine/streams/optional-methods.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import type { StreamDefinition, StreamName } from '../../engine/streams/stream.ts';
import { isWireRecord } from '../../engine/streams/wire.ts';
import { type Check, compareTotal, failed, ok, skipped } from './finding.ts';

/** How many records of a stream the service should have; undefined: they were not read yet. */
export type RowsOf = (stream: StreamName) => number | undefined;

interface CheckServiceOptions {
  readonly api: ApiClient;
  readonly equipmentTypes: readonly string[];
  readonly signal: AbortSignal;
  /** What is stored, to compare the totals with. */
  readonly rowsOf: RowsOf;
  /** Infinity: with a warehouse, where the budget of the account is the only limit. */
  readonly mostRequests: number;
  readonly onCheck: (check: Check) => void;
  /** What is known of the optional methods, and how it is told to later commands. */
  readonly states: MethodStates;
  readonly remember: (result: MethodResult) => Promise<void>;
  /** Default: the registry. */
  readonly streams?: readonly StreamDefinition[];
}

interface Asked {
  readonly method: string;
  readonly listKey?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly what?: string;
  /** The rows to compare the list with. */
  readonly rows?: number | undefined;
  /** A service without the method is well. */
  readonly isOptional?: boolean;
}

/** The others name ids or people; the data lists of items are many. */
const OTHER_LISTS = (Object.keys(OPTIONAL_LISTS) as OptionalListName[]).filter(
  (method) => method !== 'equipmenttypes.list' && !method.startsWith('datalist'),
);
const NAMED_TYPES = 5;

const totalOf = ({ paging, records }: ListPage): number => paging?.total ?? records.length;

export async function checkService({
  api,
  equipmentTypes,
  rowsOf,
  signal,
  mostRequests,
  onCheck,
  states,
  remember,
  streams = STREAMS,
}: CheckServiceOptions): Promise<void> {
  const meter = createRequestMeter();
  /** Further requests are useless. */
  let isOver = false;
  /** What the first sync will read. */
  const ahead: string[] = [];

  /** undefined: no usable response. */
  async function ask(asked: Asked): Promise<ListPage | undefined> {
    const { method, listKey, params = {}, what = `service: ${method}`, rows, isOptional = false } = asked;
    if (isOver) return undefined;
    const known = states.get(method);
    if (isOptional && isLeftAlone(known)) {
      onCheck(skipped(what, `not offered (${known?.code ?? ''})`));
      return undefined;
    }
    try {
      const key = listKey === undefined ? {} : { listKey };
      const comesWhole = params['limit'] === undefined;
      const page = await api.page({ method, ...key, params, comesWhole, meter, signal });
      if (isOptional) await remember({ method, code: null, isStored: false });
      const isWhole = comesWhole || page.paging?.total !== undefined;
      const compared = compareTotal(what, totalOf(page), isWhole ? rows : undefined);
      onCheck(listKey === undefined ? ok(what, 'responds') : compared);
      return page;
    } catch (error) {
      if (!(error instanceof SafetySyncError)) throw error;
      const { code, recovery, advice, requestId } = error;
      if (isOptional && isNotOffered(code)) {
        await remember({ method, code });
        onCheck(skipped(what, `not offered (${code})`));
        return undefined;
      }
      const isRefusal = recovery === 'fail_run';
      // Another method may be allowed.
      isOver =
        (isRefusal && code !== 'token_permission') || ['network_error', 'rate_limit_exceeded'].includes(code);
      // The line already begins with the method.
      const message = error.message.replace(/^[\w.-]+\.(list|info): /, '');
      const request = requestId === undefined ? '' : ` [request ${requestId}]`;
      onCheck({ ...failed(what, message + request, advice), code, isRefusal });
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
      onCheck(skipped('equipment types', finding, 'Correct SAFETY_EQUIPMENT_TYPES.'));
    }
    return true;
  }

  /** Where the service has no list of types. */
  async function askByType({ method, responseKey: listKey }: StreamDefinition): Promise<void> {
    const what = `service: ${method}`;
    const none = 'no equipment types are configured: equipment is not synced';
    if (equipmentTypes.length > 0) ahead.push(`equipment of ${formatNumber(equipmentTypes.length, 'type')}`);
    else if (!isOver) onCheck(skipped(what, none, 'Set SAFETY_EQUIPMENT_TYPES.'));
    const asked = equipmentTypes.slice(0, Math.max(0, mostRequests - meter.requests));
    for (const type of asked) {
      const params = { equipmentType_id: type, service_type: 'all' };
      const ofType = `${what} ${type}`;
      const page = await ask({ method, listKey, params, what: ofType });
      if (page?.records.length === 0)
        onCheck(skipped(ofType, 'a service may respond so to an id that it does not know', 'Check the id.'));
    }
    const left = formatNumber(equipmentTypes.length - asked.length, 'more type');
    if (asked.length < equipmentTypes.length)
      onCheck(skipped(what, `${left} not asked: at most ${mostRequests} requests`));
  }

  /** Once a day is enough, because some of these lists are large. */
  async function askForNames(method: OptionalListName): Promise<void> {
    const { code, askedAgoMs = Infinity } = states.get(method) ?? {};
    const { listKey, pageSize } = listOf(method);
    const stream = streams.find((one) => one.method === method && one.readMode.kind === 'newest_first');
    const rows = stream && rowsOf(stream.name);
    const params = pageSize === undefined ? {} : { limit: 1 };
    if (code !== null || askedAgoMs >= DAY_MS || stream !== undefined)
      await ask({ method, listKey, params, rows, isOptional: true });
    else onCheck(ok(`service: ${method}`, `responded ${formatDuration(askedAgoMs)} ago`));
  }

  for (const { name, method, responseKey: listKey, readMode, optionalMethods } of streams) {
    if (optionalMethods?.some((one) => one === method)) continue;
    const isPaged = 'pageSize' in readMode;
    if (!isPaged && !(readMode.kind === 'snapshot' && readMode.per === 'account')) continue;
    const page = await ask({ method, listKey, params: isPaged ? { limit: 1 } : {}, rows: rowsOf(name) });
    if (page !== undefined) ahead.push(`${formatNumber(totalOf(page), 'record')} of ${method}`);
  }
  // With a warehouse the account's source was asked for it.
  if (mostRequests < Infinity) await ask({ method: 'account.info', isOptional: true });
  if (!(await askForTypes())) {
    for (const stream of streams)
      if (stream.readMode.kind === 'snapshot' && stream.readMode.per !== 'account') await askByType(stream);
  }
  if (mostRequests === Infinity) for (const method of OTHER_LISTS) await askForNames(method);
  else if (ahead.length > 0) onCheck(ok('first sync', `will read ${ahead.join(', ')}`));
}
