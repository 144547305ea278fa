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
import type { StreamDefinition } from '../../engine/streams/stream.ts';
import { isWireRecord } from '../../engine/streams/wire.ts';
import { compareTotal, type RowsOf } from './check-source.ts';
import { type Check, failed, ok, skipped } from './finding.ts';

interface CheckServiceOptions {
  readonly api: ApiClient;
  readonly equipmentTypes: readonly string[];
  readonly signal: AbortSignal;
  /** What is stored, to compare the totals with. */
  readonly rowsOf: RowsOf;
  /** Infinity: the budget of the account is the only limit. */
  readonly mostRequests: number;
  readonly onCheck: (check: Check) => void;
  /** What is known of the optional methods, and how it is told to later commands; absent without a warehouse. */
  readonly optional?: {
    readonly states: MethodStates;
    readonly remember: (result: MethodResult) => Promise<void>;
  };
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

/** Methods that are used where the service has them. */
const TYPE_LIST = { method: 'equipmenttypes.list', listKey: 'equipmenttypes', isOptional: true } as const;
const ACCOUNT_INFO = { method: 'account.info', isOptional: true } as const;
/** The others name ids or people; the data lists of items are many. */
const OTHER_LISTS = (Object.keys(OPTIONAL_LISTS) as OptionalListName[]).filter(
  (method) => method !== 'equipmenttypes.list' && !method.startsWith('datalist'),
);
const NAMED_TYPES = 5;

const totalOf = ({ paging, records }: ListPage): number => paging?.total ?? records.length;
const countOf = (page: ListPage): string => formatNumber(totalOf(page), 'record');

function failedCheck(what: string, error: unknown): Check {
  if (!(error instanceof SafetySyncError)) throw error;
  const request = error.requestId === undefined ? '' : ` [request ${error.requestId}]`;
  // The line already begins with the method.
  const message = error.message.replace(/^[\w.-]+\.(list|info): /, '');
  const { code, recovery } = error;
  return { ...failed(what, message + request, error.advice), code, isRefusal: recovery === 'fail_run' };
}

export async function checkService({
  api,
  equipmentTypes,
  rowsOf,
  signal,
  mostRequests,
  onCheck,
  optional,
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
    const known = optional?.states.get(method);
    if (isOptional && isLeftAlone(known)) {
      onCheck(skipped(what, `not offered (${known?.code ?? ''})`));
      return undefined;
    }
    try {
      const key = listKey === undefined ? {} : { listKey };
      const comesWhole = params['limit'] === undefined;
      const page = await api.page({ method, ...key, params, comesWhole, meter, signal });
      if (isOptional) await optional?.remember({ method, code: null, isStored: false });
      const isWhole = comesWhole || page.paging?.total !== undefined;
      const total = totalOf(page);
      onCheck(
        listKey === undefined ? ok(what, 'responds') : compareTotal(what, total, isWhole ? rows : undefined),
      );
      return page;
    } catch (error) {
      const failure = failedCheck(what, error);
      if (isOptional && isNotOffered(failure.code)) {
        await optional?.remember({ method, code: failure.code ?? null });
        onCheck(skipped(what, `not offered (${failure.code ?? ''})`));
        return undefined;
      }
      // Another method may be allowed.
      const isRefused = failure.isRefusal === true && failure.code !== 'token_permission';
      isOver = isRefused || failure.code === 'network_error' || failure.code === 'rate_limit_exceeded';
      onCheck(failure);
      return undefined;
    }
  }

  async function askForList(stream: StreamDefinition, params: Asked['params'] = {}): Promise<void> {
    const { name, method, responseKey: listKey } = stream;
    const page = await ask({ method, listKey, params, rows: rowsOf(name) });
    if (page !== undefined) ahead.push(`${countOf(page)} of ${method}`);
  }

  /** Compares the configured types with the list. Returns whether there is a list. */
  async function askForTypes(): Promise<boolean> {
    const page = await ask(TYPE_LIST);
    if (page === undefined || page.records.length === 0) return false;
    const types = page.records.map((one) => one.parse());
    const known = new Set(types.map((type) => (isWireRecord(type) ? String(type['id']) : '')));
    const lacking = equipmentTypes.filter((id) => !known.has(id));
    const number = equipmentTypes.length > 0 ? equipmentTypes.length : known.size;
    ahead.push(`equipment of ${formatNumber(number, 'type')}`);
    if (lacking.length > 0) {
      const finding = `the list of the service lacks ${nameSome(lacking, NAMED_TYPES)}`;
      onCheck(skipped('equipment types', finding, 'Correct SAFETY_EQUIPMENT_TYPES.'));
    }
    return true;
  }

  /** Where the service has no list of types. */
  async function askByType({ method, responseKey: listKey }: StreamDefinition): Promise<void> {
    if (equipmentTypes.length > 0) ahead.push(`equipment of ${formatNumber(equipmentTypes.length, 'type')}`);
    for (const [at, type] of equipmentTypes.entries()) {
      if (isOver) return;
      if (meter.requests >= mostRequests) {
        const left = formatNumber(equipmentTypes.length - at, 'more type');
        onCheck(skipped(`service: ${method}`, `${left} not asked: at most ${mostRequests} requests`));
        return;
      }
      const params = { equipmentType_id: type, service_type: 'all' };
      const what = `service: ${method} ${type}`;
      const page = await ask({ method, listKey, params, what });
      if (page?.records.length === 0)
        onCheck(skipped(what, 'a service may respond so to an id that it does not know', 'Check the id.'));
    }
    if (equipmentTypes.length > 0 || isOver) return;
    const finding = 'no equipment types are configured: equipment is not synced';
    onCheck(skipped(`service: ${method}`, finding, 'List the ids of your equipment types.'));
  }

  /** Once a day is enough, because some of these lists are large. */
  async function askForNames(method: OptionalListName, states: MethodStates): Promise<void> {
    const { code, askedAgoMs = Infinity } = states.get(method) ?? {};
    const { listKey, pageSize } = listOf(method);
    const stream = streams.find((one) => one.method === method && one.readMode.kind === 'newest_first');
    const rows = stream && rowsOf(stream.name);
    const params = pageSize === undefined ? {} : { limit: 1 };
    if (code !== null || askedAgoMs >= DAY_MS || stream !== undefined)
      await ask({ method, listKey, params, rows, isOptional: true });
    else onCheck(ok(`service: ${method}`, `responded ${formatDuration(askedAgoMs)} ago`));
  }

  for (const stream of streams) {
    const { readMode } = stream;
    if (stream.optionalMethods?.some((one) => one === stream.method)) continue;
    if ('pageSize' in readMode) await askForList(stream, { limit: 1 });
    else if (readMode.kind === 'snapshot' && readMode.per === 'account') await askForList(stream);
  }
  // With a warehouse the account's source was asked for it.
  if (mostRequests < Infinity) await ask(ACCOUNT_INFO);
  const hasTypes = await askForTypes();
  for (const stream of hasTypes ? [] : streams) {
    const { readMode } = stream;
    if (readMode.kind === 'snapshot' && readMode.per !== 'account') await askByType(stream);
  }
  if (optional !== undefined) for (const method of OTHER_LISTS) await askForNames(method, optional.states);
  if (mostRequests < Infinity && ahead.length > 0) onCheck(ok('first sync', `will read ${ahead.join(', ')}`));
}
