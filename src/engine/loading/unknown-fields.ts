/**
 * Issues about fields that the specification does not name: one for each name, however many records show it. Beyond a bound
 * one issue represents all others, because a service that uses data as names (`{"2026-11-21": …}`) never stops sending new
 * ones.
 */
import { formatCount } from '../../shared/format.ts';
import { fingerprintOf, type StagedIssue } from './staged-issue.ts';

/** Maximum number of names with an issue of their own, for each stream of an account. */
export const MOST_UNKNOWN_FIELDS = 1000;

/** Identifies the issue about the names beyond the bound. */
export const UNLISTED = fingerprintOf({ kind: 'unknown_field', field: null }, null);

const toUnlisted = (issue: StagedIssue): StagedIssue => ({
  ...issue,
  fingerprint: UNLISTED,
  field: null,
  problem: `more than ${formatCount(MOST_UNKNOWN_FIELDS)} fields that the specification does not name: the others are not listed`,
  value: { [issue.field ?? '']: issue.value },
  context: null,
});

interface UnknownFields {
  add(issue: StagedIssue): void;
  /** One for each added name, counted in `times`; the last record that showed it is its example. */
  readonly issues: readonly StagedIssue[];
}

/**
 * Collects the issues of some records. `listed`: fingerprints of the names with an issue of their own; grows up to the
 * bound.
 */
export function collectUnknownFields(listed: Set<string>): UnknownFields {
  const found = new Map<string, StagedIssue>();
  return {
    add(issue) {
      const isListed = listed.has(issue.fingerprint) || listed.size < MOST_UNKNOWN_FIELDS;
      if (isListed) listed.add(issue.fingerprint);
      const shown = isListed ? issue : toUnlisted(issue);
      const times = (found.get(shown.fingerprint)?.times ?? 0) + 1;
      // The issue is about the format, and stays when the row of its example is refused or dropped.
      found.set(shown.fingerprint, { ...shown, of_row: false, times });
    },
    get issues() {
      return [...found.values()];
    },
  };
}
