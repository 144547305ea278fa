/** The equipment types to read: the configured ones, else those that the service lists and those that have rows. */
import { isLeftAlone, isNotOffered, type MethodResult } from '../streams/optional-methods.ts';
import { readOptionalList } from './optional-list.ts';
import type { ReadRequest } from './read-request.ts';
import { recordName } from './record-fields.ts';

interface TypesToRead {
  readonly types: readonly string[];
  /** Those of them that the list lacks: the service may refuse them, which then means that they have no equipment. */
  readonly unlisted: ReadonlySet<string>;
  readonly note: string | null;
}

const METHOD = 'equipmenttypes.list';

/** null: none are configured, and the service does not list them. Error: the list's, when no type is stored. */
export async function findTypes({
  settings,
  service,
  state,
  warehouse,
}: Pick<ReadRequest, 'settings' | 'service' | 'state' | 'warehouse'>): Promise<
  (TypesToRead & { result?: undefined }) | { readonly types: null; readonly result: MethodResult | null }
> {
  const none = new Set<string>();
  if (settings.equipmentTypes.length > 0)
    return { types: [...new Set(settings.equipmentTypes)], unlisted: none, note: null };
  const known = (await warehouse.readOptionalMethods()).get(METHOD);
  if (isLeftAlone(known)) return { types: null, result: null };
  const { records, result, failure } = await readOptionalList(service, METHOD);
  if (isNotOffered(result.code)) return { types: null, result };
  const { named, withRows } = await warehouse.readTypes();
  const listed = new Set((records ?? []).map((one) => recordName(one, 'id')));
  // The stored types of an account that was moved are those of its old address.
  const isShort = !state.isMoved && 2 * named.filter((id) => listed.has(id)).length < named.length;
  const isLost = listed.size === 0 || isShort;
  if (!isLost) {
    const unlisted = withRows.filter((id) => !listed.has(id));
    return { types: [...listed, ...unlisted], unlisted: new Set(unlisted), note: null };
  }
  const types = [...new Set([...named, ...withRows])];
  if (types.length === 0 && failure !== null) throw failure;
  const why =
    failure === null ? `lists ${listed.size} equipment types` : `fails for ${METHOD} (${failure.code})`;
  const note = types.length === 0 ? '' : `, so the ${types.length} types stored last were read`;
  return { types, unlisted: none, note: `the service ${why}${note}` };
}
