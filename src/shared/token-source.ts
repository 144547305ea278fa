const KEYS_OF_ENTRIES: Readonly<Record<string, string>> = {
  SAFETY_TOKEN: 'token',
  SAFETY_TOKEN_FILE: 'token_file',
  SAFETY_BASE_URL: 'base_url',
  SAFETY_EQUIPMENT_TYPES: 'equipment_types',
};

/** Where the token of an account comes from. */
export interface TokenSource {
  /** The account's name in the accounts file; undefined: the variables describe the account. */
  readonly entry?: string | undefined;
  /** undefined: the variable or the entry contains the token itself. */
  readonly tokenFile?: string | undefined;
}

const MOST_ENTRIES = 5;

/** Replaces the variables in an advice by the keys of entries, or by the file of a token. */
export function nameEntries(advice: string, sources: readonly TokenSource[]): string {
  const [first] = sources;
  const tokenFile = sources.length === 1 ? first?.tokenFile : undefined;
  const entries = sources.flatMap(({ entry }) => entry ?? []);
  const more = entries.length > MOST_ENTRIES ? ` and ${entries.length - MOST_ENTRIES} more` : '';
  const named = `${entries.length === 1 ? 'entry' : 'entries'} ${entries.slice(0, MOST_ENTRIES).join(', ')}${more}`;
  return advice.replace(
    /(SAFETY_[A-Z_]+)(?: or (SAFETY_[A-Z_]+))?/g,
    (variables, one: string, other?: string) => {
      const isInFile = variables === 'SAFETY_TOKEN' && tokenFile !== undefined;
      if (entries.length === 0) return isInFile ? `the token in ${tokenFile}` : variables;
      const keys = [one, other].flatMap((name) =>
        name === undefined ? [] : [KEYS_OF_ENTRIES[name] ?? name],
      );
      const what = isInFile ? `the token in ${tokenFile}, the token_file` : keys.join(' or ');
      const ofEntries = `${what} of the ${named} in SAFETY_ACCOUNTS_FILE`;
      return entries.length < sources.length ? `${variables}, and ${ofEntries}` : ofEntries;
    },
  );
}
