/** What a table or view and its columns mean: stored as COMMENT in the database, from where the documents take it. */
interface Description {
  readonly comment: string;
  readonly columns: Meanings;
}

/** By column. */
export type Meanings = Readonly<Record<string, string>>;

/** By table or view. */
export type Descriptions = Readonly<Record<string, Description>>;

export const ACCOUNT = {
  account_id:
    'Account that the row belongs to (SAFETY_ACCOUNT); first column of every key, join on it as well.',
} as const;

/** The columns that the worker adds to every row that is a record of the source. */
export const BOOKKEEPING = {
  _hash:
    'Checksum of the bytes as received: equal means unchanged. Its first two digits: the version of the reader. For the worker.',
  _raw: 'The record as received from the service, children included.',
  _synced_at:
    'When the transaction began that last changed this row or a row of its children here (insert, update, deletion). Rows of different accounts and streams become visible in another order: read changes up to complete_until of safety.freshness (docs/bi.md, "Reading changes").',
  _deleted_at:
    'When a complete read no longer found the record at the source; null while the source has it. Live rows: _deleted_at is null.',
  _run_id: 'The run that last changed the row: safety_sync.runs.run_id.',
} as const;

/** What views have beside ids and times. */
export const labelOf = (what: string): string =>
  `Name of ${what} in safety.labels; without one its id as text.`;
export const localDay = (column: string): string => `Day of ${column} in the reporting time zone.`;
export const keyTo = (what: string, id: string): string =>
  `${what} in one column, for tools that join on one: account_id/${id}.`;

export const personName = (who: string): string =>
  `Name of ${who}; null when there is none or the service does not tell it.`;
/** `id`: the column that has the id alone. */
export const personKey = (who: string, id: string): string =>
  `${who}: people.user_key, account_id/${id}; null where there is none.`;

export const DAYS_AGO = 'How many days ago that was (reporting time zone): 0 = today.';

const PERIOD = {
  valid_from: 'From when this state held.',
  valid_to: 'Until when it held; the moment itself belongs to the next state.',
} as const;

/** Those columns of another relation, with their meaning. */
export function columnsOf({ columns }: Description, ...names: readonly string[]): Meanings {
  return Object.fromEntries(
    names.map((name) => {
      const meaning = columns[name];
      if (meaning === undefined) throw new RangeError(`nothing is said of a column ${name}`);
      return [name, meaning];
    }),
  );
}

/** The columns of a record that a view shows: all that the source has, but those. */
export const allBut = ({ columns }: Description, ...names: readonly string[]): Meanings =>
  Object.fromEntries(
    Object.entries(columns).filter(([name]) => !name.startsWith('_') && !names.includes(name)),
  );

/** The table of superseded states and the view of all of them. */
export function historyOf(
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
): { readonly states: Description; readonly history: Description } {
  const own = allBut(table);
  return {
    states: {
      comment: `Superseded states of ${what}. Read the …_history view, which also has the present ones.`,
      columns: { ...own, ...PERIOD },
    },
    history: {
      comment: `Every state of ${what} that was seen, one row each, without gaps or overlaps while it existed. State at a moment t: valid_from <= t and (valid_to is null or valid_to > t).`,
      columns: {
        ...own,
        valid_from: `From when this state held: ${since}`,
        valid_to:
          'Until when it held, the moment itself excluded: the beginning of the next state, or the deletion; null: present state.',
        ...shown,
      },
    },
  };
}
