/**
 * The meaning of a table or view and of its columns: stored as COMMENT in the database, and the documents read it there. A
 * column is described where it is declared; views inherit it by its name, and columns that many relations have are described
 * here once.
 */
interface Description {
  readonly comment: string;
  readonly columns: Meanings;
}

/** By column. */
export type Meanings = Readonly<Record<string, string>>;

/** By table or view. */
export type Descriptions = Readonly<Record<string, Description>>;

/** `own` goes before the columns of the relations that it is made of, and the first of these before the others. */
export const relation = (
  comment: string,
  own: Meanings = {},
  ...from: readonly Description[]
): Description => ({
  comment,
  columns: Object.assign({}, ...from.map(({ columns }) => columns).toReversed(), own) as Meanings,
});

/** The table of superseded states and the view of all of them: `NAME_states` and `NAME_history`. */
export const historyOf = (
  name: string,
  table: Description,
  { what, since }: { readonly what: string; readonly since: string },
): Descriptions => ({
  [`${name}_states`]: relation(
    `Superseded states of ${what}. Read the …_history view, which also has the present states.`,
    {
      valid_from: 'Start of this state.',
      valid_to: 'End of this state; the moment itself belongs to the next state.',
    },
    table,
  ),
  [`${name}_history`]: relation(
    `Every observed state of ${what}. Each state is one row, without gaps or overlaps while the object existed. The state at a moment t: valid_from <= t and (valid_to is null or valid_to > t).`,
    {
      valid_from: `Start of this state: ${since}`,
      valid_to: 'End of this state, itself excluded: the next state begins, or the deletion; null: present.',
    },
    table,
  ),
});

const COMMON: Meanings = {
  account_id: 'Account of the row (SAFETY_ACCOUNT): first column of every key, so joins need it as well.',
  stream: 'The stream.',
  _hash:
    'Checksum of the bytes as received, for the worker. An equal checksum means that the record is unchanged. The first two digits are the version of the reader.',
  _raw: 'The record as received from the service, children included.',
  _synced_at:
    'Start of the transaction that last changed this row or one of its child rows here (insert, update, deletion). Rows of different accounts and streams become visible in another order, so read changes only up to complete_until of safety.freshness (docs/bi.md, "Reading changes").',
  _deleted_at:
    'Time at which a complete read no longer found the record at the source, or of the last change of a record that the service sends as deleted; null while the source has it. A row is live while _deleted_at is null.',
  _run_id: 'Run that last changed the row: safety_sync.runs.run_id.',
  _valid_from: 'Start of the present state; see the …_history view.',
  record_url:
    'Address of the record in the service, by its RECORD_URL_TEMPLATE_…; null without that, and for an id that an address cannot show as it is.',
  user_id: 'Identifier of the person: users.id.',
  field_offices: 'Names of the field offices, separated by commas.',
  is_active: 'False from the day of termination on; null for a person of no list.',
  timezone: 'Time zone of the days (REPORTING_TIMEZONE); UTC for an account without a row.',
  today: 'Today in that time zone.',
  date: 'The day, in the reporting time zone.',
  days_ago: 'Number of days since that day (reporting time zone): 0 = today.',
  is_counted:
    'True when a run has counted the numbers on that day; false: they were counted later, from states, or are those of the last counted day.',
};

const PEOPLE = 'user observer assigner assignee completer creator assigned_user supervisor manager'.split(
  ' ',
);

/** By the end of its name, for example `form_label`. */
function meaningByName(column: string): string | undefined {
  const [, base = '', kind] = /^(.+)_(on|key|name|label|group)$/.exec(column) ?? [];
  const what = base.replaceAll('_', ' ');
  const isPerson = PEOPLE.includes(base);
  switch (kind) {
    case 'on':
      return `Day of ${base}_at in the reporting time zone.`;
    case 'label':
      return `Name of the ${what}: the label in safety.labels, else the name in safety.names, else the id as text.`;
    case 'group':
      return `Group of the ${what}: the label of the parent in safety.labels; null without a parent.`;
    case 'name':
      return `Name of the ${what}; null without one, or when the service sends no name.`;
    case 'key':
      return isPerson
        ? `The ${what} (account_id/id), as the key of joins with people.user_key; null without a person.`
        : `The ${what} in one column (account_id/id), for tools that join on one.`;
    default:
      return undefined;
  }
}

/** undefined: nothing is said of the column. */
export const meaningOf = (described: Description | undefined, column: string): string | undefined =>
  described?.columns[column] ?? described?.columns[`_${column}`] ?? COMMON[column] ?? meaningByName(column);
