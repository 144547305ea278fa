/** Checks the lists of PRIVACY_OMIT and PRIVACY_PSEUDONYMIZE against the tables. */
import { closestMatch } from 'leven';
import { STREAMS } from '../engine/streams/index.ts';
import { type StoredColumn, storedColumns } from '../engine/streams/stored-columns.ts';

const NO_PSEUDONYM = 'only text can be replaced by a pseudonym: ids join tables, other types cannot hold one';

/** Returns one sentence for each invalid setting; an empty list means that all settings are valid. */
export function privacyProblems({
  omit,
  pseudonymize,
}: Readonly<Record<'omit' | 'pseudonymize', readonly string[]>>): string[] {
  const all = STREAMS.flatMap(storedColumns);
  const canGo = all.filter(({ needed }) => needed === null);
  const canBePseudonyms = canGo.filter(({ isText }) => isText);
  const problems: string[] = [];
  const check = (variable: string, names: readonly string[], possible: readonly StoredColumn[]): void => {
    const possibleNames = possible.map(({ name }) => name);
    for (const name of names) {
      const found = all.find((one) => one.name === name);
      const meant = closestMatch(name, possibleNames) ?? '';
      if (found === undefined)
        problems.push(
          `${variable}: there is no column ${name}; did you mean ${meant}? (expected table.column)`,
        );
      else if (!possible.includes(found))
        problems.push(`${variable}: ${name} cannot be there, because ${found.needed ?? NO_PSEUDONYM}`);
    }
  };
  check('PRIVACY_OMIT', omit, canGo);
  check('PRIVACY_PSEUDONYMIZE', pseudonymize, canBePseudonyms);
  const both = pseudonymize.filter((name) => omit.includes(name));
  if (both.length > 0) {
    problems.push(`PRIVACY_PSEUDONYMIZE: ${both.join(', ')} is in PRIVACY_OMIT too: keep one of them`);
  }
  return problems;
}
