/** Requests every method of the service once. */
import type { ApiClient } from '../../engine/api/client.ts';
import { createRequestMeter } from '../../engine/api/requests.ts';
import { SafetySyncError } from '../../shared/errors.ts';
import { formatNumber } from '../../shared/format.ts';
import { STREAMS } from '../../engine/streams/index.ts';
import type { StreamDefinition } from '../../engine/streams/stream.ts';
import { isWireRecord } from '../../engine/streams/wire.ts';
import { type Check, failed, ok, skipped } from './finding.ts';

interface CheckServiceOptions {
  readonly api: ApiClient;
  readonly equipmentTypes: readonly string[];
  readonly signal: AbortSignal;
  readonly onCheck: (check: Check) => void;
  /** Default: the registry. */
  readonly streams?: readonly StreamDefinition[];
}

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
  signal,
  onCheck,
  streams = STREAMS,
}: CheckServiceOptions): Promise<void> {
  const meter = createRequestMeter();
  /** The reason why further requests are useless. */
  const state = { refused: false, unreachable: false };
  let userId: string | undefined;

  async function ask(
    { method, responseKey }: StreamDefinition,
    params: Readonly<Record<string, unknown>>,
    what = `service: ${method}`,
  ): Promise<void> {
    if (state.refused || state.unreachable) return;
    try {
      const list = api.list({ method, listKey: responseKey, params, meter, signal });
      let next = await list.next();
      for (; next.done !== true; next = await list.next()) {
        const [first] = next.value.kind === 'records' ? next.value.records : [];
        const record = first?.parse();
        const id = isWireRecord(record) ? (record['m_assignee_id'] ?? record['m_user_id']) : undefined;
        if (typeof id === 'string' || typeof id === 'number') userId ??= String(id);
      }
      const response = next.value;
      const total = response.paging?.total ?? response.count;
      onCheck(ok(what, `responds, ${formatNumber(total, 'record')}`));
    } catch (error) {
      const failure = failedCheck(what, error);
      // Another method may be allowed.
      state.refused = failure.isRefusal === true && failure.code !== 'token_permission';
      state.unreachable = failure.code === 'network_error';
      onCheck(failure);
    }
  }

  async function askForUser({ method, responseKey }: StreamDefinition): Promise<void> {
    if (state.refused || state.unreachable) return;
    const what = `service: ${method}`;
    if (userId === undefined) {
      onCheck(skipped(what, 'no user id is known yet'));
      return;
    }
    try {
      const number = Number(userId);
      const user = String(number) === userId ? number : userId;
      await api.fetchObject({ method, objectKey: responseKey, params: { user }, meter, signal });
      onCheck(ok(what, 'responds'));
    } catch (error) {
      const failure = failedCheck(what, error);
      const isOptional = failure.code === 'api_method_not_found' || failure.code === 'token_permission';
      const isWell = failure.code === 'content_not_found' || failure.code === 'parameter_invalid';
      if (isWell) onCheck(ok(what, 'responds (the sample user is not known there)'));
      else if (isOptional) onCheck(skipped(what, `${failure.code ?? ''}: names of users stay unknown`));
      else onCheck(failure);
    }
  }

  async function askByType(stream: StreamDefinition): Promise<void> {
    const what = `service: ${stream.method}`;
    for (const type of equipmentTypes) {
      await ask(stream, { equipmentType_id: type, service_type: 'all' }, `${what} ${type}`);
    }
    if (equipmentTypes.length > 0 || state.refused || state.unreachable) return;
    const finding = 'no equipment types are configured: equipment is not synced';
    onCheck(skipped(what, finding, 'List the ids of your equipment types.'));
  }

  for (const stream of streams) {
    const { readMode } = stream;
    if (readMode.kind === 'lookup') continue;
    if ('pageSize' in readMode) await ask(stream, { limit: 1 });
    else if (readMode.per === 'account') await ask(stream, {});
    else await askByType(stream);
  }
  // The lists were requested before, so a user is known.
  for (const stream of streams) if (stream.readMode.kind === 'lookup') await askForUser(stream);
}
