/** Lists that are one answer per scope (specification: resources.list, equipments.list; no paging is specified). */
import type { ListAnswer } from '../api/client.ts';
import { SafetySyncError } from '../shared/errors.ts';
import type { SnapshotScope } from '../loading/merge-sql.ts';
import { tableShape } from '../database/table-shape.ts';
import { equipmentAskedTypes } from '../streams/equipments.ts';
import type { ReadContext } from '../streams/stream.ts';
import type { Extract, ExtractContext, Extraction } from './extract.ts';
import { identify } from '../loading/identify.ts';
import { createPageTally, fetchPage, isRefusedPage } from './pages.ts';

/** Reads of a list with unasked pages before it counts as not settling. */
const PAGED_ATTEMPTS = 3;
/** An unasked paging may be anything; this many pages end a service that never ends. */
const MOST_PAGES = 100_000;

interface Scope {
  readonly label: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly context: ReadContext;
}

/** The pages that a list announced without being asked. Returns null when everything was had, else what is missing. */
async function readAnnouncedPages(context: ExtractContext, scope: Scope): Promise<string | null> {
  const { loader, stream } = context;
  let complaint: string | null = null;
  for (let attempt = 1; attempt <= PAGED_ATTEMPTS; attempt += 1) {
    const mark = await loader.mark();
    const tally = createPageTally();
    let refusal: SafetySyncError | undefined;
    for (let page = 1; page <= MOST_PAGES; page += 1) {
      try {
        const read = await fetchPage(context, page === 1 ? scope.params : { ...scope.params, page });
        tally.note(read, stream.keyField);
        await loader.add(read.records, scope.context);
        if (!tally.hasFurther(page)) break;
      } catch (error) {
        if (page === 1 || !isRefusedPage(error)) throw error;
        refusal = error;
        break;
      }
    }
    complaint = tally.complaint();
    if (complaint === null) return null;
    // The parameter itself is refused: another attempt would be told the same.
    if (refusal?.code === 'parameter_unexpected') {
      return `${complaint}; page ${tally.lastPage ?? 0} is announced, but a further page is refused (${refusal.code})`;
    }
    if (attempt < PAGED_ATTEMPTS) await loader.rewind(mark);
  }
  return complaint;
}

/** Without a paging object an answer is the list; with one, only if all that it says, and something, agrees to that. */
function isWhole({ paging, count }: ListAnswer): boolean {
  if (paging === undefined) return true;
  const { total, lastPage } = paging;
  if (total === undefined && lastPage === undefined) return false;
  return (lastPage ?? 1) <= 1 && count >= (total ?? 0);
}

/** Reads one scope as a stream of records. Returns null when it is complete, else what is missing. */
async function readScope(context: ExtractContext, scope: Scope): Promise<string | null> {
  const { api, loader, stream, meter, signal } = context;
  const mark = await loader.mark();
  const answer = await api.fetchList({
    method: stream.method,
    listKey: stream.answerKey,
    params: scope.params,
    meter,
    signal,
    sink: {
      restart: () => loader.rewind(mark),
      records: (batch) => loader.add(batch, scope.context),
    },
  });
  if (isWhole(answer)) return null;
  await loader.rewind(mark);
  return await readAnnouncedPages(context, scope);
}

/** The same context, but records with other keys are left out. */
function takingOnly(context: ExtractContext, keys: ReadonlySet<string>): ExtractContext {
  const { loader, stream } = context;
  const isWanted = (record: unknown) => keys.has(identify(stream, record, {}).key ?? '');
  return {
    ...context,
    api: context.api,
    loader: { ...loader, add: (records, about) => loader.add(records.filter(isWanted), about) },
  };
}

/** `only`: take these records and leave the others, which were taken before. */
async function readScopes(context: ExtractContext, scopes: readonly Scope[], only?: ReadonlySet<string>) {
  const failures: SafetySyncError[] = [];
  for (const scope of scopes) {
    const mark = await context.loader.mark();
    try {
      const missing = await readScope(only === undefined ? context : takingOnly(context, only), scope);
      if (missing !== null)
        failures.push(new SafetySyncError('read_incomplete', `${scope.label}: ${missing}`));
    } catch (error) {
      const isScopeOnly =
        error instanceof SafetySyncError && error.recovery !== 'fail_run' && isServiceFailure(error);
      if (!isScopeOnly) throw error;
      await context.loader.rewind(mark);
      failures.push(error);
    }
  }
  return failures;
}

/** Failures of the service's answers, as opposed to those of the warehouse or a stop by signal. */
function isServiceFailure(error: SafetySyncError): boolean {
  return (
    error.code !== 'interrupted' &&
    error.code !== 'lock_lost' &&
    error.code !== 'internal_error' &&
    !error.code.startsWith('database_')
  );
}

function joinFailures(failures: readonly SafetySyncError[]): SafetySyncError | null {
  const [first, ...others] = failures;
  if (first === undefined || others.length === 0) return first ?? null;
  const message = `${failures.length} equipment types failed: ${failures.map((one) => one.message).join('; ')}`;
  return new SafetySyncError(first.code, message, { cause: first, requestId: first.requestId });
}

export const extractAccountSnapshot: Extract = async (context): Promise<Extraction> => {
  const missing = await readScope(context, {
    label: context.stream.method,
    params: {},
    context: {},
  });
  return {
    outcome: 'read',
    covered: missing === null ? { column: null, values: [] } : null,
    state: {},
    note: null,
    failure:
      missing === null
        ? null
        : new SafetySyncError('read_incomplete', `${context.stream.method}: ${missing}`),
  };
};

export const extractEquipmentTypes: Extract = async (context): Promise<Extraction> => {
  const types = [...new Set(context.settings.equipmentTypes)];
  if (types.length === 0) {
    return { outcome: 'skipped', reason: 'SAFETY_EQUIPMENT_TYPES is empty: no equipment type to ask for' };
  }
  const scopes = types.map((type) => ({
    label: `equipment type ${type}`,
    params: { equipmentType_id: type, service_type: 'all', include_null_metavalues: true },
    context: { equipmentTypeId: type },
  }));
  const failures = await readScopes(context, scopes);
  const covered: SnapshotScope = {
    column: 'equipment_type_id',
    asked: tableShape(equipmentAskedTypes),
    values: types,
  };
  if (failures.length === 0 && types.length > 1) {
    // What changed its type between two answers was in neither. It is in one of them now; what is gone is in none.
    const vanished = await context.loader.findVanished(covered);
    if (vanished.size > 0) failures.push(...(await readScopes(context, scopes, vanished)));
  }
  return {
    outcome: 'read',
    // What is in no answer may have moved to a type that was not read.
    covered: failures.length === 0 ? covered : null,
    state: {},
    note: null,
    failure: joinFailures(failures),
  };
};
