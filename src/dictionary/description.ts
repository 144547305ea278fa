/** The meaning of a table or view and of its columns: stored as COMMENT in the database, and the documents read it there. */
export interface Description {
  readonly comment: string;
  readonly columns: Meanings;
}

/** By column. */
export type Meanings = Readonly<Record<string, string>>;

/** By table or view. */
export type Descriptions = Readonly<Record<string, Description>>;

export const ACCOUNT = {
  account_id:
    'Account that owns the row (SAFETY_ACCOUNT). It is the first column of every key, so joins need it as well.',
} as const;

/** The columns that the worker adds to every row that is a record of the source. */
export const BOOKKEEPING = {
  _hash:
    'Checksum of the bytes as received, for the worker. An equal checksum means that the record is unchanged. The first two digits are the version of the reader.',
  _raw: 'The record as received from the service, children included.',
  _synced_at:
    'Start of the transaction that last changed this row or one of its child rows here (insert, update, deletion). Rows of different accounts and streams become visible in another order, so read changes only up to complete_until of safety.freshness (docs/bi.md, "Reading changes").',
  _deleted_at:
    'Time at which a complete read no longer found the record at the source, or of the last change of a record that the service sends as deleted; null while the source has it. A row is live while _deleted_at is null.',
  _run_id: 'Run that last changed the row: safety_sync.runs.run_id.',
} as const;

/** The columns that views have in addition to ids and times. */
export const labelMeaning = (what: string): string =>
  `Name of ${what}: the label in safety.labels, else the name in safety.names, else the id as text.`;
export const groupMeaning = (what: string): string =>
  `Group of ${what}: the label of the parent in safety.labels; null without a parent.`;
const localDay = (column: string): string => `Day of ${column} in the reporting time zone.`;
/** The day of each time: `created` has `created_on` for `created_at`. */
export const localDays = (...times: readonly string[]): Meanings =>
  Object.fromEntries(times.map((time) => [`${time}_on`, localDay(`${time}_at`)]));
export const keyTo = (what: string, id: string): string =>
  `${what} in one column, for tools that join on one: account_id/${id}.`;

export const linkTo = (what: string, kind: string): string =>
  `Address of ${what} in the service, by RECORD_URL_TEMPLATE_${kind}; null without that, and for an id that an address cannot show as it is.`;

/** Meanings of the columns `…_name` and `…_key`. `named` is the text for the middle of a sentence, `Named` for its beginning. */
export const person = (column: string, named: string, Named: string): Meanings => ({
  [`${column}_name`]: `Name of ${named}; null without a person, or when the service sends no name.`,
  [`${column}_key`]: `${Named}, as the key of joins with people.user_key, in the form account_id/${column}_id; null without a person.`,
});

/** The columns of views with a row for each day. */
export const DAY = {
  date: 'The day, in the reporting time zone.',
  days_ago: 'Number of days since that day (reporting time zone): 0 = today.',
  is_counted:
    'True when a run has counted the numbers on that day; false: they were counted later, from states, or are those of the last counted day.',
} as const;

/** A relation of an account, with its other columns. */
export const relation = (comment: string, columns: Meanings): Description => ({
  comment,
  columns: { ...ACCOUNT, ...columns },
});

const PERIOD = {
  valid_from: 'Start of this state.',
  valid_to: 'End of this state; the moment itself belongs to the next state.',
} as const;

/** The named columns of another relation, with their meaning. */
export function columnsOf({ columns }: Description, ...names: readonly string[]): Meanings {
  return Object.fromEntries(
    names.map((name) => {
      const meaning = columns[name];
      if (meaning === undefined) throw new RangeError(`nothing is said of a column ${name}`);
      return [name, meaning];
    }),
  );
}

/** The columns of a record that a view shows: all columns of the source except the named ones. */
export const allBut = ({ columns }: Description, ...names: readonly string[]): Meanings =>
  Object.fromEntries(
    Object.entries(columns).filter(([name]) => !name.startsWith('_') && !names.includes(name)),
  );

/** The table of superseded states and the view of all of them: `NAME_states` and `NAME_history`. */
export function historyOf(
  name: string,
  table: Description,
  {
    what,
    since,
    shown,
  }: {
    readonly what: string;
    readonly since: string;
    /** Columns that only the view has. */
    readonly shown: Meanings;
  },
): Descriptions {
  const own = allBut(table);
  return {
    [`${name}_states`]: {
      comment: `Superseded states of ${what}. Read the …_history view, which also has the present states.`,
      columns: { ...own, ...PERIOD },
    },
    [`${name}_history`]: {
      comment: `Every observed state of ${what}. Each state is one row, without gaps or overlaps while the object existed. The state at a moment t: valid_from <= t and (valid_to is null or valid_to > t).`,
      columns: {
        ...own,
        valid_from: `Start of this state: ${since}`,
        valid_to:
          'End of this state, the moment itself excluded: the start of the next state, or the deletion; null: present state.',
        ...shown,
      },
    },
  };
}
